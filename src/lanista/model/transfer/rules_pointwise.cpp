// Operators that treat every element alone, and sums and products of values.
#include <algorithm>

#include "lanista/model/transfer/axis_rules.h"

namespace lanista::zoo {
namespace {

std::vector<std::int64_t> passed(std::vector<std::int64_t> labels, const AxisRule& rule) {
  for (std::int64_t& label : labels) {
    if ((label == kZero && !rule.keeps_zero) || (label == kMean && !rule.keeps_mean)) label = kFresh;
  }
  return labels;
}

Relation pointwise(Walk& walk, const Place& at) {
  const Relation from = walk.input(at, 0);
  Relation out = walk.here(at, from.axis, passed(from.labels, *axis_rule(at.child.op)));
  if (!same_attributes(at)) return walk.lost(at, "its attributes are not the parent's", std::move(out));
  return walk.given(at, std::move(out));
}

Relation inserted_as_is(Walk&, const Place& at) { return at.inputs[0]; }

/// An activation that leaves alone what is not negative.
Relation inserted_behind_positive(Walk& walk, const Place& at) {
  const Relation& from = at.inputs[0];
  if (from.zero || (from.known && walk.never_negative(from.parent))) return from;
  return walk.lost(at, "it is new, and what it reads may be negative");
}

Relation zero_everywhere(Walk& walk, const Place& at) { return walk.given(at, walk.here(at)); }
Relation inserted_zero(Walk&, const Place&) { return Relation::zeros(); }

/// What two labels come to where values are added. False: to nothing that has a label.
bool merge(std::vector<std::int64_t>& labels, const std::vector<std::int64_t>& others) {
  for (std::size_t t = 0; t < labels.size(); ++t) {
    if (labels[t] == kFresh || others[t] == kFresh) {
      labels[t] = kFresh;
    } else if (labels[t] != others[t]) {
      return false;
    }
  }
  return true;
}

/// Values that meet element by element: `out` takes up one more. False if their units are not in the same places.
bool meets(Relation& out, const Relation& other) {
  if (out.axis == other.axis) return merge(out.labels, other.labels);
  return false;
}

Relation sum(Walk& walk, const Place& at) {
  std::vector<graph::Port> left = at.parent->inputs;
  Relation out;
  bool exact = true;
  std::vector<std::size_t> surplus;
  for (std::size_t i = 0; i < at.inputs.size(); ++i) {
    const Relation& from = at.inputs[i];
    if (from.zero) continue;
    const auto partner = from.known ? std::ranges::find(left, from.parent) : left.end();
    if (partner == left.end()) {
      surplus.push_back(i);
      continue;
    }
    left.erase(partner);
    Relation one = walk.here(at, from.axis, from.labels);
    exact = exact && from.exact;
    if (!out.known) {
      out = std::move(one);
    } else {
      exact = meets(out, one) && exact;
    }
  }
  for (const std::size_t i : surplus) walk.want_zero(at, i);
  if (!exact || !surplus.empty()) {
    return walk.lost(at, "not every summand is the parent's, unit by unit", std::move(out));
  }
  if (!left.empty()) return walk.lost(at, "a summand is missing", std::move(out));
  return out;
}

/// Beside what was there, only zeros may be added.
Relation inserted_sum(Walk& walk, const Place& at) {
  const std::size_t keep = walk.latest(at);
  std::size_t others = 0;
  for (std::size_t i = 0; i < at.inputs.size(); ++i) others += i != keep && !at.inputs[i].zero ? 1 : 0;
  if (keep < at.inputs.size() && others == 0) return at.inputs[keep];
  if (others == 0) return Relation::zeros();
  for (std::size_t i = 0; i < at.inputs.size(); ++i) {
    if (i != keep) walk.want_zero(at, i);
  }
  return walk.lost(at, "it is new, and adds what is not zero",
                   keep < at.inputs.size() ? at.inputs[keep] : Relation::none());
}

/// Products, quotients, differences: both inputs in their places, or, where the order does not matter, swapped.
Relation pair(Walk& walk, const Place& at) {
  const auto& before = at.parent->inputs;
  std::size_t first = 0;
  if (at.def.commutative && at.inputs[0].known && at.inputs[0].parent != before[0]) first = 1;
  const Relation &a = at.inputs[0], &b = at.inputs[1];
  const bool exact = a.exact && b.exact && a.parent == before[first] && b.parent == before[1 - first];
  const AxisRule& rule = *axis_rule(at.child.op);
  const Relation from = walk.input(at, 0);
  Relation out = walk.here(at, from.axis, from.labels);
  const bool together = exact && meets(out, walk.here(at, b.axis, b.labels));
  out.labels = passed(std::move(out.labels), rule);
  if (!together) return walk.lost(at, "its inputs are not the parent's, unit by unit", std::move(out));
  return out;
}

/// Channels times gates.
Relation gated(Walk& walk, const Place& at) {
  const std::size_t axis = at.types[0].shape.rank() == 4 ? 1 : at.last();
  const Relation from = walk.input(at, 0), gate = walk.input(at, 1);
  Relation out = walk.here(at, from.axis, from.labels);
  Relation gates = walk.here(at, gate.axis == 0 ? 0 : axis, gate.labels);
  if (out.axis != 0 && out.axis != axis) {
    if (gates.axis != 0) return walk.lost(at, "units of two axes are not the parent's", std::move(out));
  } else if (!meets(out, gates)) {
    return walk.lost(at, "gates and channels do not stand for the same units", std::move(out));
  }
  for (std::int64_t& label : out.labels) {
    if (label == kMean) label = kFresh;
  }
  return walk.given(at, std::move(out));
}

AxisRule activation(std::string_view op, bool zero, Sign sign, bool fixes) {
  return {.op = op,
          .flow = UnitFlow::kAll,
          .matched = pointwise,
          .inserted = fixes ? inserted_behind_positive : nullptr,
          .sign = sign,
          .keeps_zero = zero,
          .fixes = fixes};
}

}  // namespace

std::vector<AxisRule> pointwise_rules() {
  return {
      activation("relu", true, Sign::kNeverNegative, true),
      activation("leaky_relu", true, Sign::kAsInputs, true),
      activation("elu", true, Sign::kAsInputs, true),
      activation("gelu", true, Sign::kAny, false),
      activation("silu", true, Sign::kAny, false),
      activation("tanh", true, Sign::kAsInputs, false),
      activation("sigmoid", false, Sign::kNeverNegative, false),
      activation("softsign", true, Sign::kAsInputs, false),
      activation("clip", false, Sign::kAny, false),
      activation("relu6", true, Sign::kNeverNegative, false),
      activation("hard_sigmoid", false, Sign::kNeverNegative, false),
      activation("hard_swish", true, Sign::kAny, false),
      {.op = "scale_by", .flow = UnitFlow::kAll, .matched = pointwise, .keeps_zero = true, .keeps_mean = true},
      {.op = "identity", .flow = UnitFlow::kAll, .matched = pointwise, .inserted = inserted_as_is,
       .sign = Sign::kAsInputs, .keeps_zero = true, .keeps_mean = true},
      {.op = "dropout", .flow = UnitFlow::kAll, .matched = pointwise, .inserted = inserted_as_is,
       .sign = Sign::kAsInputs, .keeps_zero = true, .keeps_mean = true},
      {.op = "output", .flow = UnitFlow::kAll, .matched = pointwise, .keeps_zero = true, .keeps_mean = true},
      {.op = "zero", .flow = UnitFlow::kAll, .matched = zero_everywhere, .inserted = inserted_zero,
       .sign = Sign::kNeverNegative, .keeps_zero = true, .keeps_mean = true},
      {.op = "add", .flow = UnitFlow::kAll, .matched = sum, .inserted = inserted_sum, .sign = Sign::kAsInputs,
       .keeps_zero = true, .keeps_mean = true},
      {.op = "sub", .flow = UnitFlow::kAll, .matched = pair, .keeps_zero = true, .keeps_mean = true},
      {.op = "mul", .flow = UnitFlow::kAll, .matched = pair, .sign = Sign::kAsInputs, .keeps_zero = true},
      {.op = "div", .flow = UnitFlow::kAll, .matched = pair},
      {.op = "scale", .flow = UnitFlow::kScale, .matched = gated, .sign = Sign::kAsInputs, .keeps_zero = true},
  };
}

}  // namespace lanista::zoo
