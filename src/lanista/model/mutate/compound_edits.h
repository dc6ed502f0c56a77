#pragma once

#include <span>
#include <string>
#include <vector>

#include "lanista/model/graph/editor.h"
#include "lanista/model/mutate/op_words.h"

// Compound edits, from which mutators are built. The editor records each as primitive edits.
namespace lanista::mutate {

/// Inserts an operation with one input on one edge. Other users of the value still read it directly. Returns the node.
graph::NodeId insert_on_edge(graph::Editor& editor, graph::Use edge, Replacement layer, std::string label = {});

/// Connects the input `edge` to `source`, and removes the nodes that no other node reads then.
void rewire(graph::Editor& editor, graph::Use edge, graph::Port source);

/// Removes a node and all nodes that need it.
///
/// A join of any number of inputs loses one input; if only one is left, its value replaces the join. Other users are
/// removed too. Then nodes that no node reads are removed.
/// Errors: kNotApplicable if the input or output of the model would be removed.
Result<void> remove_cascade(graph::Editor& editor, graph::NodeId node, const graph::OpTable& ops);

/// Sets the label of a node; empty: none. Mutators change nodes with equal labels together.
void relabel(graph::Editor& editor, graph::NodeId node, std::string label);

/// Gives a node a label of its own ("LABEL/1", or the next free number), so that mutators change it alone.
///
/// Does nothing if the node has no label, or if no other node has the same label.
void specialise(graph::Editor& editor, graph::NodeId node);

/// Adds a chain of layers that reads `source`. Returns its last value, which is `source` if `layers` is empty.
graph::Port append(graph::Editor& editor, graph::Port source, std::span<const Replacement> layers);

/// Copies a chain and puts the copy in series after it. Returns the copies.
///
/// The nodes of `chain` are in order and have one input each. The copies have new ids, so they have parameters of their
/// own. Users of the chain read the copy.
std::vector<graph::NodeId> duplicate(graph::Editor& editor, std::span<const graph::NodeId> chain);

/// Replaces a chain by `layers`, between the first input of its first node and the users of its last node.
void replace_chain(graph::Editor& editor, std::span<const graph::NodeId> chain, std::span<const Replacement> layers);

/// Removes `from` if no node reads it, then its sources likewise. The input and output of the model stay.
void remove_unused(graph::Editor& editor, graph::NodeId from);

}  // namespace lanista::mutate
