#pragma once

#include <string>

#include "lanista/base/rng.h"
#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/op.h"

namespace lanista::graph::testing {

/// A small table of its own, so that the core of the room is tested without the shipped operators:
/// input(shape), output, linear(out, bias=true), relu, gelu, scale(by=1.0, mode="up"|"down"), add and mul
/// (commutative), join (order matters), split (two outputs), and for step graphs parameter(shape) and relu_grad.
OpTable small_ops();

/// input -> linear 8 -> relu -> linear 3 -> output.
Graph small_model();

/// A model over small_ops that verifies: all values [N, 4], shared and joined at random, ids with gaps, odd labels.
Graph random_model(Rng& rng);

/// The same model under other ids, without labels, and with inputs of commutative operators in another order.
Graph renamed(const Graph& graph, const OpTable& ops, Rng& rng);

}  // namespace lanista::graph::testing
