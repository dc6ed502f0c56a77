#pragma once

#include <string>
#include <vector>

#include "lanista/base/options.h"
#include "lanista/model/mutate/layer_text.h"
#include "lanista/model/mutate/pattern.h"

namespace lanista::mutate {

/// A pattern from an option of a mutator, with its text for messages.
struct PatternOption {
  std::string text;  ///< as the option has it
  Pattern pattern;   ///< parsed

  /// Reads the option `name`. Errors: kInvalidArgument with the option in `where`, also for a chain of more than
  /// `max_steps` nodes.
  static Result<PatternOption> read(const Options& options, const std::string& name, std::size_t max_steps);

  /// A description of the matching nodes for messages, such as: layer that matches the pattern "conv2d".
  std::string what(const std::string& noun) const;
  /// The names that the pattern gives its nodes.
  std::vector<std::string> names() const;
};

/// Reads the option `name`, a list of chains of layers. `captures` are the names that may follow $.
/// Errors: kInvalidArgument, kNotFound, with the option in `where`. An empty list is an error.
Result<std::vector<std::vector<LayerText>>> read_chains(const Options& options, const std::string& name,
                                                        const std::vector<std::string>& captures = {});

/// The layers of a chain for an input of type `input`. Errors: kNotApplicable.
Result<std::vector<Replacement>> layers_on(const ModelView& view, graph::ValueType input,
                                           const std::vector<LayerText>& chain, const Match* match = nullptr);

/// Returns why a chain cannot be moved as a whole, or an empty text if it can. Each node must be an operation with one
/// input.
std::string chain_conflict(const ModelView& view, const Match& match);

}  // namespace lanista::mutate
