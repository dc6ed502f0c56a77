// Norms: units that are normalised together must keep their mean and variance.
#include <algorithm>
#include <cmath>

#include "lanista/model/transfer/axis_rules.h"

namespace lanista::zoo {
namespace {

bool affine(const graph::OpArgs& args) { return args.flag("affine"); }

/// Maps weight and bias of units. Zeros stay zeros, and units of any value are scaled by 1.
void scale_and_shift(TransferWalk& walk, const NodeContext& at, const AxisMap& weight, const AxisMap& bias) {
  walk.map(at, "weight", {weight}, 1);
  walk.map(at, "bias", {bias}, 0);
}

ValueMapping batch_norm(TransferWalk& walk, const NodeContext& at) {
  const ValueMapping from = walk.input(at, 0);
  std::vector<std::int64_t> labels = walk.labels(at, 1);
  std::ranges::replace(labels, kMean, kRandomValue);
  AxisMap units{labels, {}};
  std::ranges::replace(units.from, kRandomValue, kZero);  // any value is normalised by itself
  scale_and_shift(walk, at, units, units);
  walk.map(at, "running_mean", {units}, 0);
  walk.map(at, "running_var", {units}, 1);
  ValueMapping out = walk.identity(at, 1, std::move(labels));
  if (affine(at.args()) != affine(at.before())) return walk.inexact(at, "only one has weights", std::move(out));
  if (!same_attributes(at)) return walk.inexact(at, "its attributes are not the parent's", std::move(out));
  if (from.axis > 1) return walk.inexact(at, "another axis than that of the channels differs", std::move(out));
  return walk.exact(at, std::move(out));
}

/// In inference: (x - 0) / sqrt(1 + eps) times sqrt(1 + eps).
ValueMapping new_batch_norm(TransferWalk& walk, const NodeContext& at) {
  if (!affine(at.args())) return walk.inexact(at, "it is new, and has no weights");
  walk.set_constant(at, "weight", std::sqrt(1 + at.args().real("eps")));
  walk.set_constant(at, "bias", 0);
  walk.set_constant(at, "running_mean", 0);
  walk.set_constant(at, "running_var", 1);
  return at.inputs[0];
}

/// Returns how often each of `o` units is among the labels, or empty if other labels are among them.
std::vector<std::int64_t> counts(std::span<const std::int64_t> labels, std::int64_t o) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(o));
  for (const std::int64_t label : labels) {
    if (label < 0) return {};
    ++out[static_cast<std::size_t>(label)];
  }
  return out;
}

bool all_equal(std::span<const std::int64_t> values) {
  return !values.empty() && std::ranges::all_of(values, [&](std::int64_t v) { return v == values[0]; });
}

/// Every unit once, and otherwise only their mean (average expansion of LEMON): the variance shrinks by o / n.
bool padded_with_means(std::span<const std::int64_t> labels, std::int64_t o) {
  std::vector<std::int64_t> units;
  for (const std::int64_t label : labels) {
    if (label != kMean) units.push_back(label);
  }
  const auto count = counts(units, o);
  return !count.empty() && all_equal(count) && count[0] == 1;
}

/// Norm over the last dimension with units that are not just those of the parent.
ValueMapping features_normed(TransferWalk& walk, const NodeContext& at) {
  const std::size_t last = at.last();
  const std::int64_t n = at.size(last), o = at.old_size(last);
  const std::vector<std::int64_t> labels = walk.labels(at, last);
  const bool together = affine(at.args()) == affine(at.before());
  if (together && padded_with_means(labels, o) && n > o) {
    std::vector<std::int64_t> out = labels;
    std::ranges::replace(out, kMean, kZero);
    const double share = static_cast<double>(o) / static_cast<double>(n);
    AxisMap weight{out, std::vector<double>(out.size(), std::sqrt(share))};
    scale_and_shift(walk, at, weight, {out, {}});
    ValueMapping value = walk.identity(at, last, std::move(out));
    const double wanted = at.before().real("eps") * share;
    if (!affine(at.args())) return walk.inexact(at, "it has no weights to undo the other variance", std::move(value));
    if (std::abs(at.args().real("eps") - wanted) > 1e-12 * wanted) {
      return walk.inexact(at, "eps would have to be " + graph::attr_text(wanted), std::move(value));
    }
    if (!same_attributes(at, {"eps"})) return walk.inexact(at, "its attributes are not the parent's", std::move(value));
    return walk.exact(at, std::move(value));
  }
  AxisMap units{labels, {}};
  std::ranges::replace(units.from, kMean, kZero);
  scale_and_shift(walk, at, units, units);
  ValueMapping value = walk.identity(at, last, labels);
  std::ranges::replace(value.labels, kMean, kRandomValue);
  if (!together || !same_attributes(at))
    return walk.inexact(at, "its attributes are not the parent's", std::move(value));
  if (!all_equal(counts(labels, o))) {
    return walk.inexact(at, "not every feature stands equally often in what is normalised", std::move(value));
  }
  return walk.exact(at, std::move(value));
}

ValueMapping layer_norm(TransferWalk& walk, const NodeContext& at) {
  const ValueMapping from = walk.input(at, 0);
  const auto axes = static_cast<std::size_t>(at.args().integer("axes"));
  if (axes == 1 && at.before().integer("axes") == 1 && from.axis == at.last()) return features_normed(walk, at);
  scale_and_shift(walk, at, {}, {});
  std::vector<std::int64_t> labels = from.labels;
  for (std::int64_t& label : labels) label = label < 0 ? kRandomValue : label;
  ValueMapping value = walk.identity(at, from.axis, std::move(labels));
  if (!same_attributes(at)) return walk.inexact(at, "its attributes are not the parent's", std::move(value));
  if (from.axis != 0 && from.axis >= at.types[0].shape.rank() - axes) {
    return walk.inexact(at, "it normalises units that are not all the parent's", std::move(value));
  }
  return walk.exact(at, std::move(value));
}

ValueMapping group_norm(TransferWalk& walk, const NodeContext& at) {
  const ValueMapping from = walk.input(at, 0);
  const std::vector<std::int64_t> labels = walk.labels(at, 1);
  const std::int64_t groups = at.args().integer("groups"), old_groups = at.before().integer("groups");
  const std::int64_t size = at.size(1) / groups, old_size = at.old_size(1) / old_groups;
  AxisMap units{labels, {}};
  for (std::int64_t& label : units.from) label = label < 0 ? kZero : label;
  scale_and_shift(walk, at, units, units);
  ValueMapping value = walk.identity(at, 1, labels);
  for (std::int64_t& label : value.labels) label = label < 0 ? kRandomValue : label;
  if (from.axis > 1) return walk.inexact(at, "another axis than that of the channels differs", std::move(value));
  if (affine(at.args()) != affine(at.before()) || !same_attributes(at, {"groups"})) {
    return walk.inexact(at, "its attributes are not the parent's", std::move(value));
  }
  for (std::int64_t g = 0; g < groups; ++g) {
    std::vector<std::int64_t> inside;
    const std::int64_t old_group = labels[static_cast<std::size_t>(g * size)] / old_size;
    for (std::int64_t i = 0; i < size; ++i) {
      const std::int64_t label = labels[static_cast<std::size_t>(g * size + i)];
      inside.push_back(label >= 0 && label / old_size == old_group ? label % old_size : kRandomValue);
    }
    if (!all_equal(counts(inside, old_size))) {
      return walk.inexact(at, "a group is not one of the parent's, every channel equally often", std::move(value));
    }
  }
  return walk.exact(at, std::move(value));
}

}  // namespace

std::vector<AxisRule> norm_rules() {
  return {
      {.op = "batch_norm", .matched = batch_norm, .inserted = new_batch_norm, .zeroed = {"weight", "bias"}},
      {.op = "layer_norm", .matched = layer_norm, .zeroed = {"weight", "bias"}},
      {.op = "group_norm", .matched = group_norm, .zeroed = {"weight", "bias"}},
  };
}

}  // namespace lanista::zoo
