#pragma once

#include <span>
#include <string>
#include <vector>

#include "lanista/model/graph/editor.h"
#include "lanista/model/mutate/op_words.h"

// Compound edits, from which mutators are built. The editor records each as primitive edits.
namespace lanista::mutate {

/// Inserts an operation with one input before input `edge`. Other inputs that read the same value still read it
/// directly. Returns the id of the new node.
graph::NodeId insert_on_edge(graph::Editor& editor, graph::Use edge, Replacement layer, std::string label = {});

/// Connects the input `edge` to `source`. Then removes the node that `edge` read before, if no node reads it any more,
/// and likewise the nodes before that node. The input of the model stays.
void rewire(graph::Editor& editor, graph::Use edge, graph::Port source);

/// Removes a node and all nodes that cannot work without it.
///
/// A join of any number of inputs loses the input that read the removed node. If only one input is left, its value
/// replaces the join. Other nodes that read a removed node are removed too, and finally nodes that no node reads.
/// Errors: kNotApplicable if the input or output of the model would be removed; the editor is of no use then.
Result<void> remove_cascade(graph::Editor& editor, graph::NodeId node, const graph::OpTable& ops);

/// Replaces the label of a node; empty: no label. Mutators change nodes with equal labels together.
void relabel(graph::Editor& editor, graph::NodeId node, std::string label);

/// Gives a node a new label ("LABEL/1", or the next free number), so that mutators change it alone.
///
/// Does nothing if the node has no label, or if no other node has the same label.
void specialise(graph::Editor& editor, graph::NodeId node);

/// Adds a chain of operations of which the first reads `source`. Returns the value of the last one, or `source` if
/// `layers` is empty.
graph::Port append(graph::Editor& editor, graph::Port source, std::span<const Replacement> layers);

/// Copies a chain and inserts the copy after it. Returns the ids of the copies, in order.
///
/// `chain` is not empty, each node reads the one before it and has one input. The copies have the labels of the
/// originals, and new ids, so they have separate parameters. Nodes that read the last node of the chain read the last
/// copy afterwards.
std::vector<graph::NodeId> duplicate(graph::Editor& editor, std::span<const graph::NodeId> chain);

/// Replaces a chain by `layers`: they read what its first node reads, and are read instead of output 0 of its last
/// node. Nodes of the chain that other nodes still read stay. `chain` is not empty; `layers` may be.
void replace_chain(graph::Editor& editor, std::span<const graph::NodeId> chain, std::span<const Replacement> layers);

/// Removes node `from` if no node reads it, then likewise the nodes that it read. The input and output of the model
/// stay.
void remove_unused(graph::Editor& editor, graph::NodeId from);

}  // namespace lanista::mutate
