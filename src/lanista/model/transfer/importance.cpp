#include "lanista/model/transfer/importance.h"

#include <algorithm>
#include <optional>
#include <set>

#include "lanista/model/graph/infer.h"
#include "lanista/model/transfer/unit_classes.h"

namespace lanista::zoo {
namespace {

std::string weight_of(graph::NodeId node) { return "n" + std::to_string(node.value) + ".weight"; }

Result<std::vector<double>> values_of(std::span<const Tensor> tensors, const std::string& name) {
  const auto found = std::ranges::find(tensors, name, &Tensor::name);
  if (found == tensors.end()) return Error{Code::kInvalidArgument, "there is no tensor " + name, ""};
  if (found->type == ElementType::kF64) {
    const auto values = elements_of<double>(*found);
    return std::vector<double>(values.begin(), values.end());
  }
  const auto values = elements_of<float>(*found);
  return std::vector<double>(values.begin(), values.end());
}

/// Whether a node has one weight, and its second dimension is the channels of the first input.
bool reads_channels(const graph::Node& node, const graph::OpDef& def, const graph::Types& types) {
  if (def.facts.mixes == graph::MixedAxis::kNone) return false;
  const std::vector<graph::ValueType> inputs = types.inputs(node);
  if (def.params({inputs, node.attrs, def}).front().name != "weight") return false;
  const auto* groups = node.attrs.find("groups");
  return groups == nullptr || std::get<std::int64_t>(*groups) == 1;
}

}  // namespace

Result<std::map<graph::NodeId, std::vector<double>>> unit_importance(const graph::Graph& model,
                                                                     const graph::OpTable& ops,
                                                                     std::span<const Tensor> weights,
                                                                     std::span<const Tensor> gradients) {
  LANISTA_TRY(graph::verify(model, ops));
  LANISTA_ASSIGN(const graph::Types types, graph::infer_shapes(model, ops));
  const UnitClasses units = UnitClasses::of(model, types, ops);
  std::map<std::size_t, double> of_class;
  for (const graph::NodeId id : model.topo()) {
    const graph::Node& node = model.node(id);
    const graph::OpDef& def = *ops.find(node.op);
    if (!reads_channels(node, def, types)) continue;
    const bool last = def.facts.mixes == graph::MixedAxis::kLast;
    LANISTA_ASSIGN(const auto w, values_of(weights, weight_of(id)));
    LANISTA_ASSIGN(const auto g, values_of(gradients, weight_of(id)));
    const auto& dims = types.at({id, 0}).shape.dims;
    graph::NodeId from = node.inputs[0].node;
    std::size_t axis = last ? types.at({from, 0}).shape.rank() - 1 : 1;
    const auto reads = static_cast<std::size_t>(types.at({from, 0}).shape.dims[axis]);
    const auto results = static_cast<std::size_t>(last ? dims.back() : dims[1]);
    if (reads == 0 || w.size() != g.size() || w.size() % (reads * results) != 0) {
      return Error{Code::kInvalidArgument, "tensor " + weight_of(id) + " has another shape than in the model", ""};
    }
    std::size_t places = 1;  // consecutive elements of one channel
    while (model.node(from).op == "flatten") {
      from = model.node(from).inputs[0].node;
      const auto& before = types.at({from, 0}).shape.dims;
      if (before.size() < 3) continue;
      axis = 1;
      places = reads / static_cast<std::size_t>(before[1]);
    }
    const std::size_t inner = w.size() / (reads * results);
    for (std::size_t i = 0; i < w.size(); ++i) {
      const std::size_t channel = i / inner % reads / places;
      of_class[units.unit(from, axis, static_cast<std::int64_t>(channel))] += w[i] * g[i];
    }
  }
  std::map<graph::NodeId, std::vector<double>> out;
  for (const graph::NodeId id : model.topo()) {
    const auto& dims = types.at({id, 0}).shape.dims;
    if (dims.size() < 2) continue;
    const std::size_t axis = dims.size() == 4 || model.node(id).op.starts_with("conv") ? 1 : dims.size() - 1;
    std::vector<double> scores(static_cast<std::size_t>(std::max<std::int64_t>(dims[axis], 0)));
    bool any = false;
    for (std::size_t u = 0; u < scores.size(); ++u) {
      const auto found = of_class.find(units.unit(id, axis, static_cast<std::int64_t>(u)));
      if (found != of_class.end()) scores[u] = found->second, any = true;
    }
    if (any) out.emplace(id, std::move(scores));
  }
  return out;
}

Result<bool> has_fewer_units(const TransferPlan& plan, const graph::Graph& parent, const graph::OpTable& ops) {
  LANISTA_ASSIGN(const auto params, graph::parameters(parent, ops));
  return std::ranges::any_of(plan.tensors, [&](const TensorPlan& tensor) {
    if (tensor.kind != TensorPlan::Kind::kMap || tensor.groups > 1) return false;
    const auto from = std::ranges::find(params, tensor.from, &graph::NamedParam::name);
    if (from == params.end()) return false;
    for (std::size_t axis = 0; axis < tensor.axes.size(); ++axis) {
      const auto& map = tensor.axes[axis].from;
      const std::set<std::int64_t> read(map.begin(), map.end());
      const std::int64_t used = std::ranges::count_if(read, [](std::int64_t unit) { return unit >= 0; });
      if (!map.empty() && used > 0 && used < from->spec.shape.dims[axis]) return true;
    }
    return false;
  });
}

}  // namespace lanista::zoo
