#pragma once

#include <span>
#include <string>
#include <vector>

#include "lanista/model/graph/editor.h"
#include "lanista/model/mutate/op_words.h"

// Compound edits: what mutators are made of. Each is recorded as the primitive edits it consists of.
namespace lanista::mutate {

/// Puts a one-input operation on this edge only; other users of the value keep reading it as it is.
graph::NodeId insert_on_edge(graph::Editor& editor, graph::Use edge, Replacement layer, std::string label = {});

/// The edge reads `source` from now on; what then feeds nothing goes.
void rewire(graph::Editor& editor, graph::Use edge, graph::Port source);

/// Removes the node and all that cannot do without it: joins of many lose the input, others go in turn; then what
/// feeds nothing any more. Errors: kNotApplicable if the output or the input would be among them.
Result<void> remove_cascade(graph::Editor& editor, graph::NodeId node, const graph::OpTable& ops);

/// Another label, or none: nodes with equal labels choose together.
void relabel(graph::Editor& editor, graph::NodeId node, std::string label);

/// Frees one use of a shared choice: the node gets a label of its own ("LABEL/1", or the next free number) and from
/// then on changes alone. Nothing happens where nobody shares its label.
void specialise(graph::Editor& editor, graph::NodeId node);

/// A chain of layers behind `source`; returns the last value, `source` itself for none.
graph::Port append(graph::Editor& editor, graph::Port source, std::span<const Replacement> layers);

/// A second copy of a chain (nodes with one input each, in order) in series behind it, under fresh ids, so that its
/// parameters are its own; users of the chain read the copy. Returns the copies.
std::vector<graph::NodeId> duplicate(graph::Editor& editor, std::span<const graph::NodeId> chain);

/// Takes the chain out and puts `layers` between its first node's first input and its users.
void replace_chain(graph::Editor& editor, std::span<const graph::NodeId> chain, std::span<const Replacement> layers);

/// Removes, from `from` upwards, nodes that feed nothing (never the model's input).
void remove_unused(graph::Editor& editor, graph::NodeId from);

}  // namespace lanista::mutate
