// Linear layers and convolutions.
#include <algorithm>

#include "lanista/model/ops/window.h"
#include "lanista/model/transfer/axis_rules.h"

namespace lanista::zoo {
namespace {

/// One dimension of a window.
struct Extent {
  std::int64_t kernel, stride, before, dilation;
};

std::vector<Extent> extents(const graph::OpArgs& args, bool image) {
  if (!image) {
    return {{args.integer("kernel"), args.integer("stride"), args.pair("padding").first, args.integer("dilation")}};
  }
  const auto [kh, kw] = args.pair("kernel");
  const auto [sh, sw] = args.pair("stride");
  const auto [dh, dw] = args.pair("dilation");
  const graph::ops::Pads pads = graph::ops::pads_of(args);
  return {{kh, sh, pads.top, dh}, {kw, sw, pads.left, dw}};
}

/// Maps the cells of the child's window to those of the parent. Returns false if they would read other cells of the
/// image.
bool cells(const NodeContext& at, bool image, std::vector<AxisMap>& out) {
  const std::vector<Extent> now = extents(at.args(), image), before = extents(at.before(), image);
  bool exact = true;
  for (std::size_t i = 0; i < now.size(); ++i) {
    const Extent &a = now[i], &b = before[i];
    const std::int64_t shift = a.before - b.before;
    std::int64_t offset = shift / a.dilation;
    const bool fits = a.stride == b.stride && (a.dilation == b.dilation || b.kernel == 1) && shift % a.dilation == 0 &&
                      offset >= 0 && offset + b.kernel <= a.kernel;
    if (!fits) offset = (a.kernel - b.kernel) / 2;
    exact = exact && fits;
    AxisMap axis;
    for (std::int64_t cell = 0; cell < a.kernel; ++cell) {
      const std::int64_t old = cell - offset;
      axis.from.push_back(old >= 0 && old < b.kernel ? old : kZero);
    }
    out.push_back(std::move(axis));
  }
  return exact;
}

/// Returns the cell of a window that reads the position of the result, or empty if there is none.
std::vector<std::int64_t> tap(const NodeContext& at, bool image) {
  std::vector<std::int64_t> out;
  for (const Extent& e : extents(at.args(), image)) {
    if (e.stride != 1 || e.before % e.dilation != 0 || e.before / e.dilation >= e.kernel) return {};
    out.push_back(e.before / e.dilation);
  }
  return out;
}

ValueMapping linear(TransferWalk& walk, const NodeContext& at) {
  const std::size_t last = at.last();
  const ValueMapping from = walk.input(at, 0);
  bool all = true;
  const AxisMap columns = walk.columns(at, walk.labels(at, last), at.old_size(last), all);
  const std::int64_t out = at.args().integer("out"), old = at.before().integer("out");
  const std::vector<std::int64_t> results = walk.results(at, last, out, old);
  const AxisMap rows{results, {}};
  walk.map(at, "weight", {rows, columns});
  const bool biased = walk.bias(at, "bias", rows);
  ValueMapping value = walk.identity(at, last, results);
  if (from.axis != 0 && from.axis != last) {
    if (value.axis != 0) return walk.inexact(at, "units of two axes are not the parent's", std::move(value));
    std::vector<std::int64_t> rest = from.labels;  // zeros become the bias, the mean is kept
    std::ranges::replace(rest, kZero, kRandomValue);
    value = walk.identity(at, from.axis, std::move(rest));
  }
  if (!biased) return walk.inexact(at, "the parent has a bias", std::move(value));
  if (!all) return walk.inexact(at, "units of the parent are gone", std::move(value));
  return walk.exact(at, std::move(value));
}

ValueMapping new_linear(TransferWalk& walk, const NodeContext& at) {
  if (walk.type(at).shape != at.types[0].shape) return walk.inexact(at, "it is new, and changes the width");
  walk.set_identity(at, "weight", {});
  walk.set_constant(at, "bias", 0);
  return at.inputs[0];
}

/// Maps groups of neighbouring units to whole groups of the parent. The positions inside the groups
/// must be equal in all groups. Otherwise the result is empty.
std::vector<std::int64_t> places_in_groups(const std::vector<std::int64_t>& labels, std::int64_t groups,
                                           std::int64_t old_size, std::vector<std::int64_t>& group_of) {
  const std::int64_t size = static_cast<std::int64_t>(labels.size()) / groups;
  std::vector<std::int64_t> places;
  for (std::int64_t g = 0; g < groups; ++g) {
    for (std::int64_t i = 0; i < size; ++i) {
      const std::int64_t label = labels[static_cast<std::size_t>(g * size + i)];
      if (label < 0) return {};
      if (i == 0) group_of.push_back(label / old_size);
      if (label / old_size != group_of.back()) return {};
      if (g == 0) places.push_back(label % old_size);
      if (label % old_size != places[static_cast<std::size_t>(i)]) return {};
    }
  }
  return places;
}

/// A convolution over images or sequences, in any number of groups.
ValueMapping convolved(TransferWalk& walk, const NodeContext& at, bool image) {
  const ValueMapping from = walk.input(at, 0);
  const std::int64_t n = at.size(1), o = at.old_size(1);
  const std::int64_t out = at.args().integer("out"), old = at.before().integer("out");
  const std::int64_t groups = at.args().integer("groups"), old_groups = at.before().integer("groups");
  const std::vector<std::int64_t> in = walk.labels(at, 1);
  const std::vector<std::int64_t> results = walk.results(at, 1, out, old);
  const AxisMap rows{results, {}};

  std::string why;
  bool all = true;
  AxisMap columns;
  std::int64_t dense = 1;  // groups to make dense
  if (groups == 1) {
    columns = walk.columns(at, in, o, all);
    dense = old_groups;
  } else {
    std::vector<std::int64_t> group_of;
    const std::vector<std::int64_t> places = places_in_groups(in, groups, o / old_groups, group_of);
    bool fits = !places.empty();
    for (std::int64_t t = 0; fits && t < out; ++t) {
      const std::int64_t label = results[static_cast<std::size_t>(t)];
      fits = label >= 0 && label / (old / old_groups) == group_of[static_cast<std::size_t>(t / (out / groups))];
    }
    if (!fits) why = "its groups are not the parent's";
    std::vector<std::int64_t> inside = places;
    for (std::int64_t i = 0; inside.empty() && i < n / groups; ++i) inside.push_back(i % (o / old_groups));
    inside.resize(static_cast<std::size_t>(n / groups));
    columns = walk.columns(at, inside, o / old_groups, all);
  }
  std::vector<AxisMap> axes{rows, std::move(columns)};
  if (!cells(at, image, axes) && why.empty()) why = "its window lies otherwise";
  walk.map(at, "weight", std::move(axes), 0, dense);
  if (!walk.bias(at, "bias", rows) && why.empty()) why = "the parent has a bias";
  if (from.axis > 1 && why.empty()) why = "another axis than that of the channels differs";
  if (!all && why.empty()) why = "units of the parent are gone";
  ValueMapping value = walk.identity(at, 1, results);
  if (!why.empty()) return walk.inexact(at, std::move(why), std::move(value));
  return walk.exact(at, std::move(value));
}

ValueMapping new_convolution(TransferWalk& walk, const NodeContext& at, bool image) {
  std::vector<std::int64_t> cell = tap(at, image);
  if (cell.empty() || walk.type(at).shape != at.types[0].shape) {
    return walk.inexact(at, "it is new, and changes the shape");
  }
  walk.set_identity(at, "weight", std::move(cell));
  walk.set_constant(at, "bias", 0);
  return at.inputs[0];
}

ValueMapping conv2d(TransferWalk& walk, const NodeContext& at) { return convolved(walk, at, true); }
ValueMapping conv1d(TransferWalk& walk, const NodeContext& at) { return convolved(walk, at, false); }
ValueMapping new_conv2d(TransferWalk& walk, const NodeContext& at) { return new_convolution(walk, at, true); }
ValueMapping new_conv1d(TransferWalk& walk, const NodeContext& at) { return new_convolution(walk, at, false); }

ValueMapping depthwise(TransferWalk& walk, const NodeContext& at) {
  const ValueMapping from = walk.input(at, 0);
  const std::int64_t many = at.args().integer("multiplier"), old = at.before().integer("multiplier");
  std::vector<std::int64_t> results;
  for (const std::int64_t label : walk.labels(at, 1)) {
    for (std::int64_t i = 0; i < many; ++i) {
      if (label >= 0) {
        results.push_back(label * old + i % old);
      } else {
        results.push_back(label == kZero ? kZero : kRandomValue);
      }
    }
  }
  const AxisMap rows{results, {}};
  std::vector<AxisMap> axes{rows, {}};
  const bool exact = cells(at, true, axes);
  walk.map(at, "weight", std::move(axes));
  const bool biased = walk.bias(at, "bias", rows);
  ValueMapping value = walk.identity(at, 1, results);
  if (many != old) return walk.inexact(at, "it has another number of results a channel", std::move(value));
  if (!exact) return walk.inexact(at, "its window lies otherwise", std::move(value));
  if (!biased) return walk.inexact(at, "the parent has a bias", std::move(value));
  if (from.axis > 1) return walk.inexact(at, "another axis than that of the channels differs", std::move(value));
  return walk.exact(at, std::move(value));
}

ValueMapping separable(TransferWalk& walk, const NodeContext& at) {
  const ValueMapping from = walk.input(at, 0);
  const std::vector<std::int64_t> in = walk.labels(at, 1);
  bool all = true;
  const AxisMap columns = walk.columns(at, in, at.old_size(1), all);
  const std::vector<std::int64_t> results = walk.results(at, 1, at.args().integer("out"), at.before().integer("out"));
  const AxisMap rows{results, {}};
  std::vector<AxisMap> axes{{in, {}}, {}};
  // No unit of the depthwise part is a mean: every channel has its own window.
  std::ranges::replace(axes[0].from, kMean, kRandomValue);
  const bool exact = cells(at, true, axes);
  walk.map(at, "depthwise.weight", std::move(axes));
  walk.map(at, "pointwise.weight", {rows, columns, {}, {}});
  const bool biased = walk.bias(at, "pointwise.bias", rows);
  ValueMapping value = walk.identity(at, 1, results);
  if (!exact) return walk.inexact(at, "its window lies otherwise", std::move(value));
  if (!biased) return walk.inexact(at, "the parent has a bias", std::move(value));
  if (!all) return walk.inexact(at, "units of the parent are gone", std::move(value));
  if (from.axis > 1) return walk.inexact(at, "another axis than that of the channels differs", std::move(value));
  return walk.exact(at, std::move(value));
}

ValueMapping new_separable(TransferWalk& walk, const NodeContext& at) {
  std::vector<std::int64_t> cell = tap(at, true);
  if (cell.empty() || walk.type(at).shape != at.types[0].shape) {
    return walk.inexact(at, "it is new, and changes the shape");
  }
  walk.set_identity(at, "depthwise.weight", std::move(cell));
  walk.set_identity(at, "pointwise.weight", {0, 0});
  walk.set_constant(at, "pointwise.bias", 0);
  return at.inputs[0];
}

/// Weight [in, out / groups, rows, columns].
ValueMapping spread(TransferWalk& walk, const NodeContext& at) {
  const ValueMapping from = walk.input(at, 0);
  const std::vector<std::int64_t> results = walk.results(at, 1, at.args().integer("out"), at.before().integer("out"));
  ValueMapping value = walk.identity(at, 1, results);
  const bool grouped = at.args().integer("groups") != 1 || at.before().integer("groups") != 1;
  const bool same = same_attributes(at, {"out", "bias"});
  if (grouped && (value.axis != 0 || from.axis != 0 || !same)) {
    return walk.inexact(at, "its groups are not the parent's", std::move(value));
  }
  bool all = true;
  const AxisMap rows{results, {}};
  AxisMap columns = grouped ? AxisMap{} : walk.columns(at, walk.labels(at, 1), at.old_size(1), all);
  std::vector<AxisMap> axes{std::move(columns), grouped ? AxisMap{} : rows};
  cells(at, true, axes);
  walk.map(at, "weight", std::move(axes));
  const bool biased = walk.bias(at, "bias", rows);
  if (!same) return walk.inexact(at, "its window lies otherwise", std::move(value));
  if (!biased) return walk.inexact(at, "the parent has a bias", std::move(value));
  if (!all) return walk.inexact(at, "units of the parent are gone", std::move(value));
  if (from.axis > 1) return walk.inexact(at, "another axis than that of the channels differs", std::move(value));
  return walk.exact(at, std::move(value));
}

}  // namespace

std::vector<AxisRule> layer_rules() {
  return {
      {.op = "linear", .matched = linear, .inserted = new_linear, .zeroed = {"weight", "bias"}},
      {.op = "conv2d", .matched = conv2d, .inserted = new_conv2d, .zeroed = {"weight", "bias"}},
      {.op = "conv1d", .matched = conv1d, .inserted = new_conv1d, .zeroed = {"weight", "bias"}},
      {.op = "depthwise_conv2d", .matched = depthwise, .inserted = new_conv2d, .zeroed = {"weight", "bias"}},
      {.op = "separable_conv2d",
       .matched = separable,
       .inserted = new_separable,
       .zeroed = {"pointwise.weight", "pointwise.bias"}},
      {.op = "conv_transpose2d", .matched = spread, .zeroed = {"weight", "bias"}},
  };
}

}  // namespace lanista::zoo
