// Operators that move elements or reduce them, without parameters.
#include <algorithm>

#include "lanista/model/ops/op_rules.h"
#include "lanista/model/transfer/axis_rules.h"

namespace lanista::zoo {
namespace {

ValueMapping source(TransferWalk& walk, const NodeContext& at) {
  ValueMapping out = walk.identity(at);
  if (!same_attributes(at)) return walk.inexact(at, "the models read different inputs", std::move(out));
  return out;
}

/// Windows over images, and reductions of whole images: channels are kept.
ValueMapping spatial(TransferWalk& walk, const NodeContext& at) {
  const ValueMapping from = walk.input(at, 0);
  std::vector<std::int64_t> labels = from.labels;
  if (!at.def.facts.preserves_mean) std::ranges::replace(labels, kMean, kRandomValue);
  const bool channels = from.axis <= 1;
  ValueMapping out = channels ? walk.identity(at, from.axis, std::move(labels)) : walk.identity(at);
  if (!channels) return walk.inexact(at, "another axis than that of the channels differs", std::move(out));
  if (!same_attributes(at)) return walk.inexact(at, "its attributes are not the parent's", std::move(out));
  return walk.exact(at, std::move(out));
}

/// For operators that mix all units: only unchanged values are exact.
ValueMapping untouched(TransferWalk& walk, const NodeContext& at) {
  if (!same_attributes(at)) return walk.inexact(at, "its attributes are not the parent's", walk.identity(at));
  for (const ValueMapping& from : at.inputs) {
    if (from.axis != 0) return walk.inexact(at, "it mixes units that are not all the parent's", walk.identity(at));
  }
  return walk.exact(at, walk.identity(at));
}

ValueMapping same_shape(TransferWalk& walk, const NodeContext& at) {
  if (walk.type(at).shape == at.types[0].shape) return at.inputs[0];
  return walk.inexact(at, "it is new");
}

ValueMapping flat(TransferWalk& walk, const NodeContext& at) {
  const ValueMapping from = walk.input(at, 0);
  if (from.axis == 0) return walk.exact(at, walk.identity(at));
  const auto& before = at.parent_types[0].shape.dims;
  const auto& now = at.types[0].shape.dims;
  const std::vector<std::int64_t> labels = walk.labels(at, from.axis);
  std::int64_t inner = 1, outer = 1;
  for (std::size_t axis = from.axis + 1; axis < now.size(); ++axis) inner *= now[axis];
  for (std::size_t axis = 1; axis < from.axis; ++axis) outer *= now[axis];
  std::vector<std::int64_t> out;
  out.reserve(static_cast<std::size_t>(outer * inner) * labels.size());
  for (std::int64_t a = 0; a < outer; ++a) {
    for (const std::int64_t label : labels) {
      for (std::int64_t i = 0; i < inner; ++i) {
        if (label >= 0) {
          out.push_back((a * before[from.axis] + label) * inner + i);
        } else {
          out.push_back(label == kZero ? kZero : kRandomValue);
        }
      }
    }
  }
  // In an inexact relation other axes may differ too.
  const std::int64_t most = walk.old_type({at.parent->id, 0}).shape.dims[1];
  for (std::int64_t& label : out) label = std::min(label, most - 1);
  return walk.exact(at, walk.identity(at, 1, std::move(out)));
}

ValueMapping reshaped(TransferWalk& walk, const NodeContext& at) {
  // Like flatten, if the reshape is one.
  if (walk.type(at).shape.rank() == 2 && walk.old_type({at.parent->id, 0}).shape.rank() == 2) return flat(walk, at);
  return untouched(walk, at);
}

ValueMapping transposed(TransferWalk& walk, const NodeContext& at) {
  const ValueMapping from = walk.input(at, 0);
  const auto& axes = at.args().list("axes");
  const auto to = std::ranges::find(axes, static_cast<std::int64_t>(from.axis));
  ValueMapping out = walk.identity(at, static_cast<std::size_t>(to - axes.begin()), from.labels);
  if (!same_attributes(at)) return walk.inexact(at, "its attributes are not the parent's", std::move(out));
  return walk.exact(at, std::move(out));
}

std::vector<std::int64_t> part_of(const std::vector<std::int64_t>& labels, const graph::ops::SliceRange& range) {
  const auto begin = labels.begin() + range.begin;
  return {begin, begin + range.len};
}

ValueMapping slice(TransferWalk& walk, const NodeContext& at) {
  const graph::ops::SliceRange now = *graph::ops::slice_range(at.args());
  const graph::ops::SliceRange before = *graph::ops::slice_range(at.before());
  const ValueMapping from = walk.input(at, 0);
  if (now.axis != before.axis || (from.axis != 0 && from.axis != now.axis)) {
    const bool same = now.axis == before.axis && now.begin == before.begin && now.len == before.len;
    if (same) return walk.exact(at, walk.identity(at, from.axis, from.labels));
    return walk.inexact(at, "it cuts elsewhere", walk.identity(at));
  }
  std::vector<std::int64_t> labels = part_of(walk.labels(at, now.axis), now);
  for (std::int64_t& label : labels) {
    if (label < 0) continue;
    label -= before.begin;
    if (label < 0 || label >= before.len) label = kRandomValue;
  }
  std::ranges::replace(labels, kMean, kRandomValue);
  return walk.exact(at, walk.identity(at, now.axis, std::move(labels)));
}

ValueMapping concat(TransferWalk& walk, const NodeContext& at) {
  const auto axis = static_cast<std::size_t>(at.args().integer("axis"));
  if (!same_attributes(at)) return walk.inexact(at, "it is along another axis", walk.identity(at));
  std::vector<std::int64_t> labels;
  std::vector<bool> taken(at.parent->inputs.size());
  bool exact = true;
  for (std::size_t i = 0; i < at.inputs.size(); ++i) {
    const ValueMapping& from = at.inputs[i];
    const std::int64_t n = at.size(axis, i);
    std::int64_t offset = 0;
    std::size_t j = 0;
    for (; j < taken.size(); ++j) {
      if (from.known && !taken[j] && from.parent == at.parent->inputs[j]) break;
      offset += at.old_size(axis, j);
    }
    if (from.zero || j == taken.size()) {
      labels.insert(labels.end(), static_cast<std::size_t>(n), from.zero ? kZero : kRandomValue);
      continue;
    }
    taken[j] = true;
    exact = exact && from.exact && (from.axis == 0 || from.axis == axis);
    for (std::int64_t t = 0; t < n; ++t) {
      std::int64_t label = from.axis == axis ? from.labels[static_cast<std::size_t>(t)] : t % at.old_size(axis, j);
      if (label == kMean) label = kRandomValue;  // the mean of a part is not the mean of all
      labels.push_back(label >= 0 ? offset + label : label);
    }
  }
  ValueMapping out = walk.identity(at, axis, std::move(labels));
  if (!exact) return walk.inexact(at, "a part is not the parent's", std::move(out));
  return out;
}

/// A new concat of a value of the parent with other values, which readers must ignore.
ValueMapping inserted_concat(TransferWalk& walk, const NodeContext& at) {
  const auto axis = static_cast<std::size_t>(at.args().integer("axis"));
  const std::size_t keep = walk.latest(at, axis);
  if (keep == at.inputs.size()) return walk.inexact(at, "it is new");
  const ValueMapping* const whole = &at.inputs[keep];
  ValueMapping out = *whole;
  out.axis = axis;
  out.labels.clear();
  for (std::size_t i = 0; i < at.inputs.size(); ++i) {
    const ValueMapping& from = at.inputs[i];
    const bool same = from.exact && from.parent == whole->parent && (from.axis == 0 || from.axis == axis);
    for (std::int64_t t = 0; t < at.size(axis, i); ++t) {
      const std::int64_t label =
          same ? (from.axis == axis ? from.labels[static_cast<std::size_t>(t)] : t) : kRandomValue;
      out.labels.push_back(from.zero ? kZero : label);
    }
  }
  return out;
}

ValueMapping shuffled(TransferWalk& walk, const NodeContext& at) {
  const ValueMapping from = walk.input(at, 0);
  if (from.axis > 1) return walk.inexact(at, "another axis than that of the channels differs", walk.identity(at));
  const std::int64_t n = at.size(1), o = at.old_size(1);
  const std::int64_t groups = at.args().integer("groups"), old_groups = at.before().integer("groups");
  const std::vector<std::int64_t> in = walk.labels(at, 1);
  std::vector<std::int64_t> out(in.size());
  for (std::int64_t t = 0; t < n; ++t) {
    std::int64_t label = in[static_cast<std::size_t>(t)];
    if (label >= 0) label = label % (o / old_groups) * old_groups + label / (o / old_groups);
    out[static_cast<std::size_t>(t % (n / groups) * groups + t / (n / groups))] = label;
  }
  return walk.exact(at, walk.identity(at, 1, std::move(out)));
}

ValueMapping mean(TransferWalk& walk, const NodeContext& at) {
  const ValueMapping from = walk.input(at, 0);
  const auto& axes = at.args().list("axes");
  const bool keep = at.args().flag("keep");
  if (!same_attributes(at)) return walk.inexact(at, "its attributes are not the parent's", walk.identity(at));
  const auto reduced = [&](std::size_t axis) {
    return std::ranges::find(axes, static_cast<std::int64_t>(axis)) != axes.end();
  };
  if (from.axis != 0 && reduced(from.axis)) {
    return walk.inexact(at, "it takes the mean over units that are not all the parent's", walk.identity(at));
  }
  std::size_t to = from.axis;
  for (std::size_t axis = 1; axis < from.axis; ++axis) to -= reduced(axis) && !keep ? 1 : 0;
  return walk.exact(at, walk.identity(at, to, from.labels));
}

ValueMapping along(TransferWalk& walk, const NodeContext& at) {
  std::int64_t axis = at.args().integer("axis");
  if (axis < 0) axis += static_cast<std::int64_t>(at.types[0].shape.rank());
  const ValueMapping from = walk.input(at, 0);
  std::vector<std::int64_t> labels = from.labels;
  for (std::int64_t& label : labels) label = label < 0 ? kRandomValue : label;
  ValueMapping out = walk.identity(at, from.axis, std::move(labels));
  if (!same_attributes(at)) return walk.inexact(at, "its attributes are not the parent's", std::move(out));
  if (from.axis != 0 && std::cmp_equal(from.axis, axis)) {
    return walk.inexact(at, "it mixes units that are not all the parent's", std::move(out));
  }
  return walk.exact(at, std::move(out));
}

}  // namespace

const AxisRule* window_rule(const graph::OpDef& def) {
  static const AxisRule kWindow{.matched = spatial};
  return def.facts.units == graph::UnitFlow::kChannels ? &kWindow : nullptr;
}

std::vector<AxisRule> shape_rules() {
  return {{.op = "input", .matched = source},
          {.op = "flatten", .matched = flat, .inserted = same_shape},
          {.op = "reshape", .matched = reshaped, .inserted = same_shape},
          {.op = "transpose", .matched = transposed},
          {.op = "slice", .matched = slice},
          {.op = "concat", .matched = concat, .inserted = inserted_concat},
          {.op = "channel_shuffle", .matched = shuffled},
          {.op = "mean", .matched = mean},
          {.op = "softmax", .matched = along},
          {.op = "causal_mask", .matched = untouched},
          {.op = "matmul", .matched = untouched},
          {.op = "lrn", .matched = untouched}};
}

}  // namespace lanista::zoo
