// Operators that move elements or reduce them, without parameters.
#include <algorithm>

#include "lanista/model/ops/rules.h"
#include "lanista/model/transfer/axis_rules.h"

namespace lanista::zoo {
namespace {

Relation source(Walk& walk, const Place& at) {
  Relation out = walk.here(at);
  if (!same_attributes(at)) return walk.lost(at, "the models read different inputs", std::move(out));
  return out;
}

/// Windows over images and whole images: channels pass.
Relation spatial(Walk& walk, const Place& at) {
  const Relation from = walk.input(at, 0);
  std::vector<std::int64_t> labels = from.labels;
  if (!axis_rule(at.child.op)->keeps_mean) std::ranges::replace(labels, kMean, kFresh);
  const bool channels = from.axis <= 1;
  Relation out = channels ? walk.here(at, from.axis, std::move(labels)) : walk.here(at);
  if (!channels) return walk.lost(at, "another axis than that of the channels differs", std::move(out));
  if (!same_attributes(at)) return walk.lost(at, "its attributes are not the parent's", std::move(out));
  return walk.given(at, std::move(out));
}

/// For operators that mix all units: only untouched values pass.
Relation untouched(Walk& walk, const Place& at) {
  if (!same_attributes(at)) return walk.lost(at, "its attributes are not the parent's", walk.here(at));
  for (const Relation& from : at.inputs) {
    if (from.axis != 0) return walk.lost(at, "it mixes units that are not all the parent's", walk.here(at));
  }
  return walk.given(at, walk.here(at));
}

Relation same_shape(Walk& walk, const Place& at) {
  if (walk.type(at).shape == at.types[0].shape) return at.inputs[0];
  return walk.lost(at, "it is new");
}

Relation flat(Walk& walk, const Place& at) {
  const Relation from = walk.input(at, 0);
  if (from.axis == 0) return walk.given(at, walk.here(at));
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
          out.push_back(label == kZero ? kZero : kFresh);
        }
      }
    }
  }
  // Of a mere counterpart other axes may differ too.
  const std::int64_t most = walk.old_type({at.parent->id, 0}).shape.dims[1];
  for (std::int64_t& label : out) label = std::min(label, most - 1);
  return walk.given(at, walk.here(at, 1, std::move(out)));
}

Relation reshaped(Walk& walk, const Place& at) {
  // Like flatten, where that is what it does.
  if (walk.type(at).shape.rank() == 2 && walk.old_type({at.parent->id, 0}).shape.rank() == 2) return flat(walk, at);
  return untouched(walk, at);
}

Relation transposed(Walk& walk, const Place& at) {
  const Relation from = walk.input(at, 0);
  const auto& axes = at.args().list("axes");
  const auto to = std::ranges::find(axes, static_cast<std::int64_t>(from.axis));
  Relation out = walk.here(at, static_cast<std::size_t>(to - axes.begin()), from.labels);
  if (!same_attributes(at)) return walk.lost(at, "its attributes are not the parent's", std::move(out));
  return walk.given(at, std::move(out));
}

std::vector<std::int64_t> part_of(const std::vector<std::int64_t>& labels, const graph::ops::SliceRange& range) {
  const auto begin = labels.begin() + range.begin;
  return {begin, begin + range.len};
}

Relation slice(Walk& walk, const Place& at) {
  const graph::ops::SliceRange now = *graph::ops::slice_range(at.args());
  const graph::ops::SliceRange before = *graph::ops::slice_range(at.before());
  const Relation from = walk.input(at, 0);
  if (now.axis != before.axis || (from.axis != 0 && from.axis != now.axis)) {
    const bool same = now.axis == before.axis && now.begin == before.begin && now.len == before.len;
    if (same) return walk.given(at, walk.here(at, from.axis, from.labels));
    return walk.lost(at, "it cuts elsewhere", walk.here(at));
  }
  std::vector<std::int64_t> labels = part_of(walk.labels(at, now.axis), now);
  for (std::int64_t& label : labels) {
    if (label < 0) continue;
    label -= before.begin;
    if (label < 0 || label >= before.len) label = kFresh;
  }
  std::ranges::replace(labels, kMean, kFresh);
  return walk.given(at, walk.here(at, now.axis, std::move(labels)));
}

Relation concat(Walk& walk, const Place& at) {
  const auto axis = static_cast<std::size_t>(at.args().integer("axis"));
  if (!same_attributes(at)) return walk.lost(at, "it is along another axis", walk.here(at));
  std::vector<std::int64_t> labels;
  std::vector<bool> taken(at.parent->inputs.size());
  bool exact = true;
  for (std::size_t i = 0; i < at.inputs.size(); ++i) {
    const Relation& from = at.inputs[i];
    const std::int64_t n = at.size(axis, i);
    std::int64_t offset = 0;
    std::size_t j = 0;
    for (; j < taken.size(); ++j) {
      if (from.known && !taken[j] && from.parent == at.parent->inputs[j]) break;
      offset += at.old_size(axis, j);
    }
    if (from.zero || j == taken.size()) {
      labels.insert(labels.end(), static_cast<std::size_t>(n), from.zero ? kZero : kFresh);
      continue;
    }
    taken[j] = true;
    exact = exact && from.exact && (from.axis == 0 || from.axis == axis);
    for (std::int64_t t = 0; t < n; ++t) {
      std::int64_t label = from.axis == axis ? from.labels[static_cast<std::size_t>(t)] : t % at.old_size(axis, j);
      if (label == kMean) label = kFresh;  // the mean of a part is not the mean of all
      labels.push_back(label >= 0 ? offset + label : label);
    }
  }
  Relation out = walk.here(at, axis, std::move(labels));
  if (!exact) return walk.lost(at, "a part is not the parent's", std::move(out));
  return out;
}

/// A value with others beside it, whose readers have to ignore them.
Relation inserted_concat(Walk& walk, const Place& at) {
  const auto axis = static_cast<std::size_t>(at.args().integer("axis"));
  const std::size_t keep = walk.latest(at, axis);
  if (keep == at.inputs.size()) return walk.lost(at, "it is new");
  const Relation* const whole = &at.inputs[keep];
  Relation out = *whole;
  out.axis = axis;
  out.labels.clear();
  for (std::size_t i = 0; i < at.inputs.size(); ++i) {
    const Relation& from = at.inputs[i];
    const bool same = from.exact && from.parent == whole->parent && (from.axis == 0 || from.axis == axis);
    for (std::int64_t t = 0; t < at.size(axis, i); ++t) {
      const std::int64_t label = same ? (from.axis == axis ? from.labels[static_cast<std::size_t>(t)] : t) : kFresh;
      out.labels.push_back(from.zero ? kZero : label);
    }
  }
  return out;
}

Relation shuffled(Walk& walk, const Place& at) {
  const Relation from = walk.input(at, 0);
  if (from.axis > 1) return walk.lost(at, "another axis than that of the channels differs", walk.here(at));
  const std::int64_t n = at.size(1), o = at.old_size(1);
  const std::int64_t groups = at.args().integer("groups"), old_groups = at.before().integer("groups");
  const std::vector<std::int64_t> in = walk.labels(at, 1);
  std::vector<std::int64_t> out(in.size());
  for (std::int64_t t = 0; t < n; ++t) {
    std::int64_t label = in[static_cast<std::size_t>(t)];
    if (label >= 0) label = label % (o / old_groups) * old_groups + label / (o / old_groups);
    out[static_cast<std::size_t>(t % (n / groups) * groups + t / (n / groups))] = label;
  }
  return walk.given(at, walk.here(at, 1, std::move(out)));
}

Relation mean(Walk& walk, const Place& at) {
  const Relation from = walk.input(at, 0);
  const auto& axes = at.args().list("axes");
  const bool keep = at.args().flag("keep");
  if (!same_attributes(at)) return walk.lost(at, "its attributes are not the parent's", walk.here(at));
  const auto reduced = [&](std::size_t axis) {
    return std::ranges::find(axes, static_cast<std::int64_t>(axis)) != axes.end();
  };
  if (from.axis != 0 && reduced(from.axis)) {
    return walk.lost(at, "it takes the mean over units that are not all the parent's", walk.here(at));
  }
  std::size_t to = from.axis;
  for (std::size_t axis = 1; axis < from.axis; ++axis) to -= reduced(axis) && !keep ? 1 : 0;
  return walk.given(at, walk.here(at, to, from.labels));
}

Relation along(Walk& walk, const Place& at) {
  std::int64_t axis = at.args().integer("axis");
  if (axis < 0) axis += static_cast<std::int64_t>(at.types[0].shape.rank());
  const Relation from = walk.input(at, 0);
  std::vector<std::int64_t> labels = from.labels;
  for (std::int64_t& label : labels) label = label < 0 ? kFresh : label;
  Relation out = walk.here(at, from.axis, std::move(labels));
  if (!same_attributes(at)) return walk.lost(at, "its attributes are not the parent's", std::move(out));
  if (from.axis != 0 && std::cmp_equal(from.axis, axis)) {
    return walk.lost(at, "it mixes units that are not all the parent's", std::move(out));
  }
  return walk.given(at, std::move(out));
}

AxisRule window(std::string_view op, bool linear, Sign sign = Sign::kAsInputs) {
  return {.op = op, .flow = UnitFlow::kChannels, .matched = spatial, .sign = sign, .keeps_zero = true,
          .keeps_mean = linear};
}

}  // namespace

std::vector<AxisRule> shape_rules() {
  return {
      {.op = "input", .matched = source},
      window("max_pool2d", false), window("avg_pool2d", true), window("adaptive_avg_pool2d", true),
      window("global_avg_pool", true), window("global_max_pool", false), window("max_pool1d", false),
      window("avg_pool1d", true), window("pad", true), window("resize", true), window("upsample", true),
      {.op = "flatten", .matched = flat, .inserted = same_shape, .sign = Sign::kAsInputs, .keeps_zero = true},
      {.op = "reshape", .matched = reshaped, .inserted = same_shape, .sign = Sign::kAsInputs, .keeps_zero = true},
      {.op = "transpose", .flow = UnitFlow::kTranspose, .matched = transposed, .sign = Sign::kAsInputs,
       .keeps_zero = true, .keeps_mean = true},
      {.op = "slice", .flow = UnitFlow::kSlice, .matched = slice, .sign = Sign::kAsInputs, .keeps_zero = true},
      {.op = "concat", .flow = UnitFlow::kConcat, .matched = concat, .inserted = inserted_concat,
       .sign = Sign::kAsInputs, .keeps_zero = true},
      {.op = "channel_shuffle", .flow = UnitFlow::kShuffle, .matched = shuffled, .sign = Sign::kAsInputs,
       .keeps_zero = true, .keeps_mean = true},
      {.op = "mean", .flow = UnitFlow::kReduced, .matched = mean, .sign = Sign::kAsInputs, .keeps_zero = true,
       .keeps_mean = true},
      {.op = "softmax", .flow = UnitFlow::kAll, .matched = along, .sign = Sign::kNeverNegative},
      {.op = "causal_mask", .matched = untouched},
      {.op = "matmul", .matched = untouched},
      {.op = "lrn", .flow = UnitFlow::kAll, .matched = untouched, .keeps_zero = true},
  };
}

}  // namespace lanista::zoo
