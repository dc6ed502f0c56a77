// Operators that treat every element alone, and sums and products of values.
#include <algorithm>

#include "lanista/model/transfer/axis_rules.h"

namespace lanista::zoo {
namespace {

std::vector<std::int64_t> passed(std::vector<std::int64_t> labels, const graph::ValueFacts& facts) {
  for (std::int64_t& label : labels) {
    if ((label == kZero && !facts.preserves_zero) || (label == kMean && !facts.preserves_mean)) label = kRandomValue;
  }
  return labels;
}

ValueMapping pointwise(TransferWalk& walk, const NodeContext& at) {
  const ValueMapping from = walk.input(at, 0);
  ValueMapping out = walk.identity(at, from.axis, passed(from.labels, at.def.facts));
  if (!same_attributes(at)) return walk.inexact(at, "its attributes are not the parent's", std::move(out));
  return walk.exact(at, std::move(out));
}

ValueMapping inserted_as_is(TransferWalk&, const NodeContext& at) { return at.inputs[0]; }

/// A new activation that keeps values of at least zero.
ValueMapping inserted_behind_positive(TransferWalk& walk, const NodeContext& at) {
  const ValueMapping& from = at.inputs[0];
  if (from.zero || (from.known && walk.never_negative(from.parent))) return from;
  return walk.inexact(at, "it is new, and what it reads may be negative");
}

ValueMapping zero_everywhere(TransferWalk& walk, const NodeContext& at) { return walk.exact(at, walk.identity(at)); }
ValueMapping inserted_zero(TransferWalk&, const NodeContext&) { return ValueMapping::zeros(); }

/// Returns the label of a sum of two units. False if the sum has no label.
bool merge(std::vector<std::int64_t>& labels, const std::vector<std::int64_t>& others) {
  for (std::size_t t = 0; t < labels.size(); ++t) {
    if (labels[t] == kRandomValue || others[t] == kRandomValue) {
      labels[t] = kRandomValue;
    } else if (labels[t] != others[t]) {
      return false;
    }
  }
  return true;
}

/// Merges one more value into `out`, element by element. Returns false if their units are not at the same positions.
bool visit_probability(ValueMapping& out, const ValueMapping& other) {
  if (out.axis == other.axis) return merge(out.labels, other.labels);
  return false;
}

ValueMapping sum(TransferWalk& walk, const NodeContext& at) {
  std::vector<graph::Port> left = at.parent->inputs;
  ValueMapping out;
  bool exact = true;
  std::vector<std::size_t> surplus_replicas;
  for (std::size_t i = 0; i < at.inputs.size(); ++i) {
    const ValueMapping& from = at.inputs[i];
    if (from.zero) continue;
    const auto partner = from.known ? std::ranges::find(left, from.parent) : left.end();
    if (partner == left.end()) {
      surplus_replicas.push_back(i);
      continue;
    }
    left.erase(partner);
    ValueMapping one = walk.identity(at, from.axis, from.labels);
    exact = exact && from.exact;
    if (!out.known) {
      out = std::move(one);
    } else {
      exact = visit_probability(out, one) && exact;
    }
  }
  for (const std::size_t i : surplus_replicas) walk.request_zero(at, i);
  if (!exact || !surplus_replicas.empty()) {
    return walk.inexact(at, "not every summand is the parent's, unit by unit", std::move(out));
  }
  if (!left.empty()) return walk.inexact(at, "a summand is missing", std::move(out));
  return out;
}

/// A new sum may add only zeros to the value of the parent.
ValueMapping inserted_sum(TransferWalk& walk, const NodeContext& at) {
  const std::size_t keep = walk.latest(at);
  std::size_t others = 0;
  for (std::size_t i = 0; i < at.inputs.size(); ++i) others += i != keep && !at.inputs[i].zero ? 1 : 0;
  if (keep < at.inputs.size() && others == 0) return at.inputs[keep];
  if (others == 0) return ValueMapping::zeros();
  for (std::size_t i = 0; i < at.inputs.size(); ++i) {
    if (i != keep) walk.request_zero(at, i);
  }
  return walk.inexact(at, "it is new, and adds what is not zero",
                      keep < at.inputs.size() ? at.inputs[keep] : ValueMapping::none());
}

/// Products, quotients, differences: both inputs in order, or swapped if the order does not matter.
ValueMapping pair(TransferWalk& walk, const NodeContext& at) {
  const auto& before = at.parent->inputs;
  std::size_t first = 0;
  if (at.def.commutative && at.inputs[0].known && at.inputs[0].parent != before[0]) first = 1;
  const ValueMapping &a = at.inputs[0], &b = at.inputs[1];
  const bool exact = a.exact && b.exact && a.parent == before[first] && b.parent == before[1 - first];
  const ValueMapping from = walk.input(at, 0);
  ValueMapping out = walk.identity(at, from.axis, from.labels);
  const bool together = exact && visit_probability(out, walk.identity(at, b.axis, b.labels));
  out.labels = passed(std::move(out.labels), at.def.facts);
  if (!together) return walk.inexact(at, "its inputs are not the parent's, unit by unit", std::move(out));
  return out;
}

/// Channels scaled by gates.
ValueMapping gated(TransferWalk& walk, const NodeContext& at) {
  const std::size_t axis = at.types[0].shape.rank() == 4 ? 1 : at.last();
  const ValueMapping from = walk.input(at, 0), gate = walk.input(at, 1);
  ValueMapping out = walk.identity(at, from.axis, from.labels);
  ValueMapping gates = walk.identity(at, gate.axis == 0 ? 0 : axis, gate.labels);
  if (out.axis != 0 && out.axis != axis) {
    if (gates.axis != 0) return walk.inexact(at, "units of two axes are not the parent's", std::move(out));
  } else if (!visit_probability(out, gates)) {
    return walk.inexact(at, "gates and channels do not stand for the same units", std::move(out));
  }
  for (std::int64_t& label : out.labels) {
    if (label == kMean) label = kRandomValue;
  }
  return walk.exact(at, std::move(out));
}

}  // namespace

const AxisRule* pointwise_rule(const graph::OpDef& def) {
  static const AxisRule kPair{.matched = pair};
  static const AxisRule kPlain{.matched = pointwise};
  static const AxisRule kRectifier{.matched = pointwise, .inserted = inserted_behind_positive};
  if (def.facts.units != graph::UnitFlow::kAll) return nullptr;
  if (def.max_inputs == 2) return &kPair;
  return def.facts.keeps_nonnegative ? &kRectifier : &kPlain;
}

std::vector<AxisRule> pointwise_rules() {
  return {{.op = "identity", .matched = pointwise, .inserted = inserted_as_is},
          {.op = "dropout", .matched = pointwise, .inserted = inserted_as_is},
          {.op = "zero", .matched = zero_everywhere, .inserted = inserted_zero},
          {.op = "add", .matched = sum, .inserted = inserted_sum},
          {.op = "scale", .matched = gated}};
}

}  // namespace lanista::zoo
