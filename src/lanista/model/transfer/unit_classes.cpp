#include "lanista/model/transfer/unit_classes.h"

#include <algorithm>

#include "lanista/model/ops/op_rules.h"

namespace lanista::zoo {

UnitClasses UnitClasses::of(const graph::Graph& graph, const graph::Types& types, const graph::OpTable& ops) {
  UnitClasses units;
  for (const graph::NodeId id : graph.topo()) {
    std::vector<Axis>& axes = units.axes_[id];
    for (const std::int64_t dim : types.at({id, 0}).shape.dims) {
      const std::int64_t size = std::max<std::int64_t>(dim, 0);  // the batch has no units
      axes.push_back({units.sets_.add(static_cast<std::size_t>(size)), units.groups_.add(1), size});
    }
    units.join(graph.node(id), types, ops);
  }
  return units;
}

void UnitClasses::run(const Axis& a, std::int64_t begin, const Axis& b, std::int64_t other_begin, std::int64_t count) {
  if (count <= 0) return;
  groups_.unite(a.number, b.number);
  for (std::int64_t i = 0; i < count; ++i) {
    sets_.unite(a.first + static_cast<std::size_t>(begin + i), b.first + static_cast<std::size_t>(other_begin + i));
  }
}

void UnitClasses::same(graph::NodeId a, std::size_t axis_a, graph::NodeId b, std::size_t axis_b) {
  const Axis& one = axis_at(a, axis_a);
  const Axis& other = axis_at(b, axis_b);
  if (one.size == other.size) run(one, 0, other, 0, one.size);
}

void UnitClasses::join(const graph::Node& node, const graph::Types& types, const graph::OpTable& ops) {
  if (node.inputs.empty()) return;
  if (std::ranges::any_of(node.inputs, [](graph::Port port) { return port.slot != 0; })) return;
  const std::vector<graph::ValueType> inputs = types.inputs(node);
  const graph::OpArgs args{inputs, node.attrs, *ops.find(node.op)};
  const graph::NodeId from = node.inputs[0].node;
  const std::size_t rank = inputs[0].shape.rank();
  switch (args.def.facts.units) {
    case graph::UnitFlow::kNone:
      break;
    case graph::UnitFlow::kAll:
      for (const graph::Port& input : node.inputs) {
        for (std::size_t axis = 1; axis < rank; ++axis) same(input.node, axis, node.id, axis);
      }
      break;
    case graph::UnitFlow::kChannels:
      same(from, 1, node.id, 1);
      break;
    case graph::UnitFlow::kDepthwise: {
      const std::int64_t results = args.integer("multiplier");
      const Axis& in = axis_at(from, 1);
      const Axis& out = axis_at(node.id, 1);
      for (std::int64_t t = 0; t < out.size; ++t) run(out, t, in, t / results, 1);
      break;
    }
    case graph::UnitFlow::kConcat: {
      const auto along = static_cast<std::size_t>(args.integer("axis"));
      std::int64_t offset = 0;
      for (const graph::Port& input : node.inputs) {
        for (std::size_t axis = 1; axis < rank; ++axis) {
          if (axis != along) same(input.node, axis, node.id, axis);
        }
        const Axis& in = axis_at(input.node, along);
        run(axis_at(node.id, along), offset, in, 0, in.size);
        offset += in.size;
      }
      break;
    }
    case graph::UnitFlow::kSlice: {
      const graph::ops::SliceRange range = *graph::ops::slice_range(args);
      for (std::size_t axis = 1; axis < rank; ++axis) {
        if (axis != range.axis) same(from, axis, node.id, axis);
      }
      run(axis_at(node.id, range.axis), 0, axis_at(from, range.axis), range.begin, range.len);
      break;
    }
    case graph::UnitFlow::kTranspose: {
      const auto& axes = args.list("axes");
      for (std::size_t axis = 1; axis < rank; ++axis) same(from, static_cast<std::size_t>(axes[axis]), node.id, axis);
      break;
    }
    case graph::UnitFlow::kShuffle: {
      const Axis& in = axis_at(from, 1);
      const Axis& out = axis_at(node.id, 1);
      const std::int64_t groups = args.integer("groups"), each = in.size / groups;
      for (std::int64_t t = 0; t < in.size; ++t) run(out, t % each * groups + t / each, in, t, 1);
      break;
    }
    case graph::UnitFlow::kScale:
      for (std::size_t axis = 1; axis < rank; ++axis) same(from, axis, node.id, axis);
      same(node.inputs[1].node, 1, node.id, graph::ops::channel_dim(inputs[0].shape));
      break;
    case graph::UnitFlow::kReduced: {
      const auto& axes = args.list("axes");
      std::size_t out = 1;
      for (std::size_t axis = 1; axis < rank; ++axis) {
        const bool reduced = std::ranges::find(axes, static_cast<std::int64_t>(axis)) != axes.end();
        if (!reduced) same(from, axis, node.id, out);
        if (!reduced || args.flag("keep")) ++out;
      }
      break;
    }
  }
}

}  // namespace lanista::zoo
