// Tokens, positions, attention.
#include <algorithm>
#include <cmath>

#include "lanista/model/transfer/axis_rules.h"

namespace lanista::zoo {
namespace {

AxisMap first_ones(std::int64_t n, std::int64_t o) {
  AxisMap out;
  for (std::int64_t t = 0; t < n; ++t) out.from.push_back(t < o ? t : kMean);
  return out;
}

ValueMapping embedding(TransferWalk& walk, const NodeContext& at) {
  const std::int64_t words = at.args().integer("vocab"), old = at.before().integer("vocab");
  const std::vector<std::int64_t> results = walk.results(at, 2, at.args().integer("dim"), at.before().integer("dim"));
  walk.map(at, "weight", {first_ones(words, old), {results, {}}});
  ValueMapping value = walk.identity(at, 2, results);
  if (words != old) return walk.inexact(at, "it has another vocabulary", std::move(value));
  return walk.exact(at, std::move(value));
}

ValueMapping positional(TransferWalk& walk, const NodeContext& at) {
  const ValueMapping from = walk.input(at, 0);
  const std::vector<std::int64_t> features = walk.labels(at, 2);
  const AxisMap positions{walk.labels(at, 1), {}};
  walk.map(at, "weight", {positions, {features, {}}});
  ValueMapping value = from.axis == 1 ? walk.identity(at, 1, from.labels) : walk.identity(at, 2, features);
  if (from.axis == 1) return walk.inexact(at, "it has other positions", std::move(value));
  if (!same_attributes(at)) return walk.inexact(at, "its attributes are not the parent's", std::move(value));
  return walk.exact(at, std::move(value));
}

/// Heads are copied as a whole. In a head that grew, new queries may have any value, because new keys are zero. New
/// values too, because no node reads them. Queries are scaled, because scores are divided by another square root.
ValueMapping attention(TransferWalk& walk, const NodeContext& at) {
  const std::int64_t d = at.size(2), old_d = at.old_size(2);
  const std::int64_t heads = at.args().integer("heads"), old_heads = at.before().integer("heads");
  const std::int64_t width = d / heads, old_width = old_d / old_heads;
  bool all = true;
  const AxisMap columns = walk.columns(at, walk.labels(at, 2), old_d, all);
  const std::vector<std::int64_t> results = walk.results(at, 2, d, old_d);
  const AxisMap rows{results, {}};

  std::vector<std::int64_t> head_of;
  for (std::int64_t head = 0; head < heads; ++head) head_of.push_back(head % old_heads);
  bool all_heads = true;
  const AxisMap shares = walk.columns(at, head_of, old_heads, all_heads);

  AxisMap inner, outer;
  const double root = std::sqrt(static_cast<double>(width) / static_cast<double>(old_width));
  for (std::int64_t part = 0; part < 3; ++part) {
    for (std::int64_t head = 0; head < heads; ++head) {
      const std::int64_t old_head = head_of[static_cast<std::size_t>(head)];
      for (std::int64_t x = 0; x < width; ++x) {
        const bool old = x < old_width;
        inner.from.push_back(old ? part * old_d + old_head * old_width + x : part == 1 ? kZero : kRandomValue);
        inner.times.push_back(part == 0 && old ? root : 1.0);
        if (part != 0) continue;
        outer.from.push_back(old ? old_head * old_width + x : kZero);
        outer.times.push_back(shares.times.empty() ? 1.0 : shares.times[static_cast<std::size_t>(head)]);
      }
    }
  }
  if (root == 1.0) inner.times.clear();
  if (shares.times.empty()) outer.times.clear();
  walk.map(at, "in_proj_weight", {inner, columns});
  walk.map(at, "in_proj_bias", {inner});
  walk.map(at, "out_proj.weight", {rows, outer});
  walk.map(at, "out_proj.bias", {rows});

  ValueMapping value = walk.identity(at, 2, results);
  if (walk.input(at, 0).axis == 1) return walk.inexact(at, "it reads other positions", std::move(value));
  if (!same_attributes(at, {"heads", "dropout"})) {
    return walk.inexact(at, "its attributes are not the parent's", std::move(value));
  }
  if (!all || !all_heads || width < old_width) {
    return walk.inexact(at, "heads or units of the parent are gone", std::move(value));
  }
  return walk.exact(at, std::move(value));
}

}  // namespace

std::vector<AxisRule> sequence_rules() {
  return {
      {.op = "embedding", .matched = embedding, .zeroed = {"weight"}},
      {.op = "positional_embedding", .matched = positional},
      {.op = "attention", .matched = attention, .zeroed = {"out_proj.weight", "out_proj.bias"}},
  };
}

}  // namespace lanista::zoo
