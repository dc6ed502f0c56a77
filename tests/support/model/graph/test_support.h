#pragma once

#include <string>
#include <string_view>

#include "lanista/base/rng.h"
#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/op.h"

namespace lanista::graph::testing {

/// The graph of this text, not verified.
Graph parsed(std::string_view text);

/// A small operator table, to test the module without the built-in operators.
///
/// It has input(shape), output, linear(out, bias=true), relu, gelu, scale(by=1.0, mode="up"|"down"), add and mul
/// (commutative), join (order matters) and split (two outputs). For step graphs it has parameter(shape) and relu_grad.
OpTable small_ops();

/// input -> linear 8 -> relu -> linear 3 -> output.
Graph small_model();

/// A random verified model over small_ops: values [N, 4], random sharing and joins, gaps in ids, unusual labels.
Graph random_model(Rng& rng);

/// The same model with other ids, without labels, and with another order of commutative inputs.
Graph renamed(const Graph& graph, const OpTable& ops, Rng& rng);

}  // namespace lanista::graph::testing
