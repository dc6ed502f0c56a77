#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/graph/graph.h"
#include "lanista/graph/infer.h"

namespace lanista::nn {

/// One call of a kernel: a node of the step graph after lowering.
struct Call {
  graph::NodeId id;
  std::string kernel;  ///< name in the kernel table, e.g. "linear_relu"
  std::string op;      ///< the operator whose schema `attrs` follow, e.g. "linear"
  graph::Attrs attrs;
  std::vector<graph::Port> inputs;         ///< aliases resolved
  std::vector<graph::ValueType> in_types;  ///< as the operator sees them; an alias may have another shape
  std::vector<graph::ValueType> out_types;
};

/// The calls of a section, in order, with what the peephole did to its values.
struct Lowered {
  std::vector<Call> calls;
  std::map<graph::Port, graph::Port> aliases;  ///< same bytes as another value: no call of its own

  /// The value that holds the bytes of `port`.
  graph::Port source(graph::Port port) const;
};

/// Operators that only name something: fed by the batch or lying in the lane's state.
bool is_source(std::string_view op);
/// Operators of the commit section; the program executes them itself, in passes over flat buffers.
bool is_commit(std::string_view op);
/// Operators that lowering removes whenever their input has the bytes of their output already.
bool is_alias(std::string_view op);

/// Turns nodes into calls: sources and aliases go, and pairs become one call where the value between them has no other
/// use: relu into the linear or conv2d before it, relu into the max pooling after it (whose index then says where relu
/// was closed, so that the gradient of relu goes as well). Same bits. `keep` are values that somebody reads later.
Lowered lower(const graph::Graph& graph, const graph::Types& types, const std::vector<graph::NodeId>& order,
              const std::set<graph::Port>& keep);

}  // namespace lanista::nn
