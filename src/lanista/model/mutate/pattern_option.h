#pragma once

#include <string>
#include <vector>

#include "lanista/base/options.h"
#include "lanista/model/mutate/layer_text.h"
#include "lanista/model/mutate/pattern.h"

namespace lanista::mutate {

/// A pattern that an option gives, with its text for messages.
struct PatternOption {
  std::string text;
  Pattern pattern;

  /// Errors: kInvalidArgument with the option in `where`; also for a chain of more than `max_steps` nodes.
  static Result<PatternOption> read(const Options& options, const std::string& name, std::size_t max_steps);

  /// "node that the pattern "…" means"
  std::string what(const std::string& noun) const;
  /// The names that the pattern gives its nodes.
  std::vector<std::string> names() const;
};

/// The layers and chains of layers in a list of texts. Errors: kInvalidArgument and kNotFound with the option in
/// `where`; also for an empty list.
Result<std::vector<std::vector<LayerText>>> read_chains(const Options& options, const std::string& name,
                                                        const std::vector<std::string>& captures = {});

/// The chain behind a value of this type. Errors: kNotApplicable.
Result<std::vector<Replacement>> layers_on(const ModelView& view, graph::ValueType input,
                                           const std::vector<LayerText>& chain, const Match* match = nullptr);

/// Whether all nodes of a chain read one value only, so that it can be moved as a whole; else why not.
std::string chain_conflict(const ModelView& view, const Match& match);

}  // namespace lanista::mutate
