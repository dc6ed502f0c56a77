#pragma once

#include <string>
#include <vector>

#include "lanista/base/options.h"
#include "lanista/model/mutate/layer_text.h"
#include "lanista/model/mutate/pattern.h"

namespace lanista::mutate {

/// A pattern from an option of a mutator, with its text for messages.
struct PatternOption {
  std::string text;  ///< text of the option
  Pattern pattern;   ///< pattern that the text describes

  /// Reads the option `name`, which must exist, with the names of the built-in operators. Errors: kInvalidArgument as
  /// in `Pattern::parse`, or for a chain of more than `max_steps` nodes; `where` is the name of the option.
  static Result<PatternOption> read(const Options& options, const std::string& name, std::size_t max_steps);

  /// `noun` with a description of the pattern, for messages, such as: layer that matches the pattern "conv2d". With an
  /// empty text of the option: layer for it.
  std::string what(const std::string& noun) const;
  /// The names that the pattern gives to nodes, in order of the chain; nodes without name are left out.
  std::vector<std::string> names() const;
};

using Chains = std::vector<std::vector<LayerText>>;  ///< chains of layers to choose from

/// Reads the option `name`, a list of chains of layers in text. `captures` are the names that may follow $. Errors: as
/// in `LayerText::parse_chain` (kInvalidArgument, kNotFound); kInvalidArgument for an empty list. `where` is the name
/// of the option.
Result<Chains> read_chains(const Options& options, const std::string& name,
                           const std::vector<std::string>& captures = {});

/// The operators of a chain for an input of type `input`, each for the result of the one before. `match` has the nodes
/// for $NAME; null is a bug if the chain has any. Errors: kNotApplicable if a layer does not accept its input.
Result<std::vector<Replacement>> layers_on(const ModelView& view, graph::ValueType input,
                                           const std::vector<LayerText>& chain, const Match* match = nullptr);

/// The reason why the nodes of a match cannot be copied or moved as a chain; an empty text if they can. Each node must
/// be an operation with one input.
std::string chain_conflict(const ModelView& view, const Match& match);

}  // namespace lanista::mutate
