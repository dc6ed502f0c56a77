#include "lanista/model/mutate/shape_repair.h"

#include <algorithm>

namespace lanista::mutate {

using graph::ValueType;

namespace {

constexpr std::int64_t kMaxBlocks = 64;  // limit of the inputs of a node in the text form

std::string pair_text(const ValueType& have, const ValueType& want) {
  return have.shape.text() + " does not fit " + want.shape.text();
}

Result<RepairOp> fit_channels(const ValueType& have, const ValueType& want, const RepairPolicy& policy) {
  const std::size_t axis = channel_axis(have.shape);
  const std::int64_t from = have.shape.dims[axis];
  const std::int64_t to = want.shape.dims[axis];
  switch (policy.channels) {
    case RepairPolicy::Channels::kProject:
      if (have.shape.rank() != 4) return RepairOp{"linear", {{"out", to}}};
      return RepairOp{"conv2d", {{"kernel", std::vector<std::int64_t>{1}}, {"out", to}}};
    case RepairPolicy::Channels::kPad: {
      // No operator adds a few zero channels, but `zero` gives a whole block of the value's shape.
      if (to % from != 0 || to / from > kMaxBlocks) {
        return not_applicable(pair_text(have, want) + ": padding with zeros needs a whole multiple of " +
                              std::to_string(from) + " channels");
      }
      graph::Attrs attrs;
      if (axis != 1) attrs.set("axis", static_cast<std::int64_t>(axis));
      return RepairOp{"concat", attrs, static_cast<int>(to / from - 1)};
    }
    case RepairPolicy::Channels::kReject:
      break;
  }
  return not_applicable(pair_text(have, want) + ", and repair.channels is reject");
}

Result<RepairOp> fit_spatial(const ValueType& have, const ValueType& want, const RepairPolicy& policy) {
  const auto& h = have.shape.dims;
  const auto& w = want.shape.dims;
  switch (policy.spatial) {
    case RepairPolicy::Spatial::kPool:
      if (w[2] > h[2] || w[3] > h[3]) {
        return not_applicable(pair_text(have, want) + ": pooling cannot make an image larger");
      }
      return RepairOp{"adaptive_avg_pool2d", {{"out", std::vector<std::int64_t>{w[2], w[3]}}}};
    case RepairPolicy::Spatial::kInterpolate:
      return RepairOp{"resize", {{"mode", std::string("bilinear")}, {"out", std::vector<std::int64_t>{w[2], w[3]}}}};
    case RepairPolicy::Spatial::kReject:
      break;
  }
  return not_applicable(pair_text(have, want) + ", and repair.spatial is reject");
}

}  // namespace

std::size_t channel_axis(const graph::Shape& shape) { return shape.rank() == 4 ? 1 : shape.rank() - 1; }

Result<std::vector<RepairOp>> plan_shape_repair(const ValueType& have, const ValueType& want,
                                                const RepairPolicy& policy) {
  if (have == want) return std::vector<RepairOp>{};
  const std::size_t rank = have.shape.rank();
  const bool comparable = have.dtype == graph::DType::kReal && want.dtype == graph::DType::kReal &&
                          rank == want.shape.rank() && rank >= 2 && rank <= 4;
  if (!comparable) return not_applicable(pair_text(have, want) + ", and no repair leads from one to the other");

  std::vector<RepairOp> plan;
  ValueType now = have;
  if (rank == 4 && !std::equal(have.shape.dims.begin() + 2, have.shape.dims.end(), want.shape.dims.begin() + 2)) {
    LANISTA_ASSIGN(RepairOp piece, fit_spatial(have, want, policy));
    plan.push_back(std::move(piece));
    std::copy(want.shape.dims.begin() + 2, want.shape.dims.end(), now.shape.dims.begin() + 2);
  }
  const std::size_t axis = channel_axis(have.shape);
  if (now.shape.dims[axis] != want.shape.dims[axis]) {
    LANISTA_ASSIGN(RepairOp piece, fit_channels(now, want, policy));
    plan.push_back(std::move(piece));
    now.shape.dims[axis] = want.shape.dims[axis];
  }
  if (now != want) return not_applicable(pair_text(have, want) + ", and no repair leads from one to the other");
  return plan;
}

graph::Port emit_shape_repair(const AddNode& add, graph::Port source, const std::vector<RepairOp>& plan) {
  for (const RepairOp& piece : plan) {
    std::vector<graph::Port> inputs{source};
    if (piece.num_zeros > 0) {
      const graph::Port zeros{add("zero", {source}, {}), 0};
      inputs.insert(inputs.end(), static_cast<std::size_t>(piece.num_zeros), zeros);
    }
    source = {add(piece.op, std::move(inputs), piece.attrs), 0};
  }
  return source;
}

graph::Port emit_shape_repair(graph::Editor& editor, graph::Port source, const std::vector<RepairOp>& plan) {
  const auto add = [&](const std::string& op, std::vector<graph::Port> inputs, graph::Attrs attrs) {
    return editor.add(op, std::move(inputs), std::move(attrs), std::string(kRepairLabel));
  };
  return emit_shape_repair(add, source, plan);
}

ValueType common_type(std::span<const ValueType> have, const RepairPolicy& policy) {
  ValueType want = have.front();
  const std::size_t rank = want.shape.rank();
  const bool shrinks = rank == 4 && policy.spatial != RepairPolicy::Spatial::kInterpolate;
  for (const ValueType& type : have) {
    if (type.shape.rank() != rank) continue;
    for (std::size_t d = 2; shrinks && d < 4; ++d) {
      want.shape.dims[d] = std::min(want.shape.dims[d], type.shape.dims[d]);
    }
    const std::size_t channel = channel_axis(want.shape);
    if (policy.channels == RepairPolicy::Channels::kPad) {
      want.shape.dims[channel] = std::max(want.shape.dims[channel], type.shape.dims[channel]);
    }
  }
  return want;
}

ValueType input_type(ValueType common, const ValueType& have, std::optional<std::size_t> axis) {
  if (axis && *axis < common.shape.rank() && *axis < have.shape.rank()) {
    common.shape.dims[*axis] = have.shape.dims[*axis];
  }
  return common;
}

}  // namespace lanista::mutate
