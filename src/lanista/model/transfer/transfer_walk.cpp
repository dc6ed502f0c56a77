#include "lanista/model/transfer/transfer_walk.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "lanista/base/rng.h"
#include "lanista/model/transfer/axis_rules.h"

namespace lanista::zoo {
namespace {

std::string tensor_name(graph::NodeId node, std::string_view param) {
  return "n" + std::to_string(node.value) + "." + std::string(param);
}

/// "n5 (linear)"
std::string place_text(const graph::Node& node) { return "n" + std::to_string(node.id.value) + " (" + node.op + ")"; }

bool counts_upwards(std::span<const std::int64_t> labels, std::int64_t size) {
  if (std::cmp_not_equal(labels.size(), size)) return false;
  for (std::size_t t = 0; t < labels.size(); ++t) {
    if (std::cmp_not_equal(labels[t], t)) return false;
  }
  return true;
}

/// Returns the default labels of `n` units: t mod `o`.
std::vector<std::int64_t> counted(std::int64_t n, std::int64_t o) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(n));
  for (std::int64_t t = 0; t < n; ++t) out[static_cast<std::size_t>(t)] = t % o;
  return out;
}

/// Returns the `n` indices with the largest scores, ascending; the first of equal ones. Without scores the first `n`.
std::vector<std::int64_t> kept(std::int64_t n, std::int64_t o, const std::vector<double>* scores) {
  std::vector<std::int64_t> order = counted(o, o);
  if (scores != nullptr && std::cmp_equal(scores->size(), o)) {
    const auto score = [&](std::int64_t u) { return (*scores)[static_cast<std::size_t>(u)]; };
    std::ranges::stable_sort(order, [&](std::int64_t a, std::int64_t b) { return score(a) > score(b); });
  }
  order.resize(static_cast<std::size_t>(n));
  std::ranges::sort(order);
  return order;
}

}  // namespace

bool same_attributes(const NodeContext& at, std::initializer_list<std::string_view> except) {
  return std::ranges::all_of(at.def.attrs, [&](const graph::AttrSpec& spec) {
    if (spec.role == graph::AttrRole::kDerived || spec.per_lane) return true;
    if (std::ranges::find(except, spec.name) != except.end()) return true;
    const graph::AttrValue* now = at.child.attrs.find(spec.name);
    const graph::AttrValue* before = at.parent->attrs.find(spec.name);
    return (now != nullptr ? *now : spec.default_value) == (before != nullptr ? *before : spec.default_value);
  });
}

TransferPlan TransferWalk::run() {
  for (const graph::NodeId id : m_.child.topo()) {
    const graph::Node& node = m_.child.node(id);
    ValueMapping value = visit(node);
    // Independent of the rule, a value of another shape is another value.
    if (value.exact) {
      const graph::ValueType& now = m_.child_types.at({id, 0});
      const graph::ValueType& before = m_.parent_types.at(value.parent);
      bool same = now.dtype == before.dtype && now.shape.rank() == before.shape.rank();
      for (std::size_t axis = 1; same && axis < now.shape.rank(); ++axis) {
        same = axis == value.axis ? std::cmp_equal(value.labels.size(), now.shape.dims[axis])
                                  : now.shape.dims[axis] == before.shape.dims[axis];
      }
      value.exact = same;
      if (same) plan_.exact_nodes.push_back(id);
      if (!same && plan_.inexact_reason.empty())
        plan_.inexact_reason = place_text(node) + ": its shape is not the parent's";
    }
    values_[id] = std::move(value);
    finish(node);
  }
  const graph::NodeId end = m_.child.nodes_of("output").front();
  const ValueMapping& result = values_.at(end);
  plan_.exact = result.exact && result.axis == 0 && result.parent.node == m_.partner.at(end);
  if (plan_.exact) plan_.inexact_reason.clear();
  if (!plan_.exact && plan_.inexact_reason.empty()) plan_.inexact_reason = "the output has other units";
  return std::move(plan_);
}

ValueMapping TransferWalk::visit(const graph::Node& node) {
  const graph::OpDef& def = *m_.ops.find(node.op);
  const auto partner = m_.partner.find(node.id);
  NodeContext at{node, partner == m_.partner.end() ? nullptr : &m_.parent.node(partner->second),
                 def,  m_.child_types.inputs(node),
                 {},   {}};
  if (at.parent != nullptr) at.parent_types = m_.parent_types.inputs(*at.parent);
  for (const graph::Port& port : node.inputs) {
    at.inputs.push_back(port.slot == 0 ? values_.at(port.node) : ValueMapping::none());
  }
  made_.clear();
  specs_ = def.params ? def.params(at.args()) : std::vector<graph::ParamSpec>{};
  old_specs_ = at.parent != nullptr && def.params ? def.params(at.before()) : std::vector<graph::ParamSpec>{};

  const AxisRule* rule = find_axis_rule(def);
  if (at.parent != nullptr) {
    if (rule != nullptr && rule->matched != nullptr) return rule->matched(*this, at);
    // An operator without a rule keeps its parameters if their shapes are equal.
    for (const graph::ParamSpec& one : specs_) {
      const auto old = std::ranges::find(old_specs_, one.name, &graph::ParamSpec::name);
      if (old != old_specs_.end() && old->shape == one.shape) map(at, one.name, {});
    }
    return inexact(at, "nothing is known of how it treats units");
  }
  if (zeroed(at)) return made_zero(at);
  const bool all_zero = std::ranges::all_of(at.inputs, [](const ValueMapping& input) { return input.zero; });
  if (all_zero && def.facts.preserves_zero) return ValueMapping::zeros();
  if (rule != nullptr && rule->inserted != nullptr) return rule->inserted(*this, at);
  return inexact(at, "it is new");
}

ValueMapping TransferWalk::made_zero(const NodeContext& at) {
  for (const std::string_view param : find_axis_rule(at.def)->zeroed) {
    if (spec(param) != nullptr) set_constant(at, param, 0);
  }
  return ValueMapping::zeros();
}

void TransferWalk::finish(const graph::Node& node) {
  for (const graph::ParamSpec& one : specs_) {
    const auto made = made_.find(one.name);
    TensorPlan tensor = made != made_.end() ? made->second : TensorPlan{};
    tensor.name = tensor_name(node.id, one.name);
    tensor.shape = one.shape.dims;
    plan_.tensors.push_back(std::move(tensor));
  }
}

const graph::ParamSpec* TransferWalk::spec(std::string_view param) const {
  const auto it = std::ranges::find(specs_, param, &graph::ParamSpec::name);
  return it == specs_.end() ? nullptr : &*it;
}

ValueMapping TransferWalk::inexact(const NodeContext& at, std::string why, ValueMapping best) {
  // Only the first reason is kept: later nodes depend on that node.
  if (plan_.inexact_reason.empty()) plan_.inexact_reason = place_text(at.child) + ": " + std::move(why);
  best.exact = false;
  return best;
}

ValueMapping TransferWalk::exact(const NodeContext& at, ValueMapping best) {
  if (at.inputs.size() != at.parent->inputs.size())
    return inexact(at, "it has another number of inputs", std::move(best));
  for (std::size_t i = 0; i < at.inputs.size(); ++i) {
    if (at.inputs[i].exact && at.inputs[i].parent == at.parent->inputs[i]) continue;
    return inexact(at, "what it reads is not what the parent's reads", std::move(best));
  }
  return best;
}

ValueMapping TransferWalk::identity(const NodeContext& at, std::size_t axis, std::vector<std::int64_t> labels) const {
  const graph::Port port{at.parent->id, 0};
  ValueMapping out{true, true, false, port, axis, std::move(labels)};
  if (axis != 0 && counts_upwards(out.labels, m_.parent_types.at(port).shape.dims[axis])) {
    out.axis = 0;
    out.labels.clear();
  }
  return out;
}

ValueMapping TransferWalk::input(const NodeContext& at, std::size_t i) const {
  const graph::Port port = at.parent->inputs[i];
  const graph::Shape& now = at.types[i].shape;
  const graph::Shape& before = at.parent_types[i].shape;
  const ValueMapping& given_one = at.inputs[i];
  if (given_one.known && given_one.parent == port && (given_one.exact || now.rank() == before.rank())) return given_one;
  ValueMapping out{true, false, false, port, 0, {}};
  for (std::size_t axis = 1; axis < std::min(now.rank(), before.rank()); ++axis) {
    if (now.dims[axis] == before.dims[axis]) continue;
    out.axis = axis;
    out.labels = counted(now.dims[axis], before.dims[axis]);
    break;
  }
  return out;
}

std::vector<std::int64_t> TransferWalk::labels(const NodeContext& at, std::size_t axis, std::size_t i) const {
  const ValueMapping from = input(at, i);
  const std::int64_t n = at.size(axis, i), o = at.old_size(axis, i);
  const bool fits = from.axis == axis && std::cmp_equal(from.labels.size(), n) &&
                    std::ranges::all_of(from.labels, [o](std::int64_t label) { return label < o; });
  return fits ? from.labels : counted(n, o);
}

std::vector<std::int64_t> TransferWalk::results(const NodeContext& at, std::size_t axis, std::int64_t n,
                                                std::int64_t o) {
  const std::size_t group = m_.child_units.group(at.child.id, axis);
  if (n > o) grown_.insert(group);
  const auto chosen = choices_.growth.find(group);
  const Growth growth = chosen == choices_.growth.end() ? Growth::kAppend : chosen->second;
  std::vector<std::int64_t> wish = counted(n, o);
  if (n < o) {
    const auto scores = options_.scores.find(at.parent->id);
    wish = kept(n, o, scores == options_.scores.end() ? nullptr : &scores->second);
  } else if (growth == Growth::kAverage) {
    std::fill(wish.begin() + o, wish.end(), kMean);
  } else if (growth == Growth::kRepeat && n % o == 0) {
    for (std::int64_t t = 0; t < n; ++t) wish[static_cast<std::size_t>(t)] = t / (n / o);
  }

  std::map<std::int64_t, std::int64_t> unit_of_class;  // unit of the parent for each class
  for (std::int64_t u = o - 1; u >= 0; --u) {
    unit_of_class[static_cast<std::int64_t>(m_.parent_units.unit(at.parent->id, axis, u))] = u;
  }
  const auto class_of = [&](std::int64_t u) {
    return u < 0 ? u : static_cast<std::int64_t>(m_.parent_units.unit(at.parent->id, axis, u));
  };
  for (std::int64_t t = 0; t < n; ++t) {
    std::int64_t& label = wish[static_cast<std::size_t>(t)];
    const auto [it, fresh] = stands_for_.emplace(m_.child_units.unit(at.child.id, axis, t), class_of(label));
    if (fresh || it->second == class_of(label)) continue;
    if (it->second < 0) {
      label = it->second;
    } else if (const auto found = unit_of_class.find(it->second); found != unit_of_class.end()) {
      label = found->second;
    }
  }
  return wish;
}

AxisMap TransferWalk::columns(const NodeContext& at, std::span<const std::int64_t> labels, std::int64_t o,
                              bool& all) const {
  AxisMap out{{labels.begin(), labels.end()}, {}};
  std::vector<std::int64_t> count(static_cast<std::size_t>(o));
  std::vector<double> total(static_cast<std::size_t>(o)), share(labels.size(), 1.0);
  for (std::int64_t& label : out.from) {
    if (label >= 0) {
      ++count[static_cast<std::size_t>(label)];
    } else {
      label = kZero;
    }
  }
  Rng shares_rng = Rng(options_.seed).split("shares").split(at.child.id.value);
  for (std::size_t t = 0; t < labels.size(); ++t) {
    const double random_share = shares_rng.uniform(0.5, 1.5);
    if (labels[t] < 0) continue;
    share[t] = random_share;
    total[static_cast<std::size_t>(labels[t])] += share[t];
  }
  for (std::size_t t = 0; t < labels.size(); ++t) {
    if (labels[t] < 0) continue;
    const auto u = static_cast<std::size_t>(labels[t]);
    share[t] = count[u] == 1 ? 1.0 : share[t] / total[u];
  }
  all = all && std::ranges::find(count, 0) == count.end();
  if (std::ranges::any_of(share, [](double a) { return a != 1.0; })) out.times = std::move(share);
  return out;
}

bool TransferWalk::has(const NodeContext& at, std::string_view param) const {
  return at.parent != nullptr && std::ranges::find(old_specs_, param, &graph::ParamSpec::name) != old_specs_.end();
}

void TransferWalk::map(const NodeContext& at, std::string_view param, std::vector<AxisMap> axes, double fill,
                       std::int64_t groups) {
  const auto old = std::ranges::find(old_specs_, param, &graph::ParamSpec::name);
  if (spec(param) == nullptr || old == old_specs_.end()) return;
  bool copy = groups == 1 && spec(param)->shape == old->shape;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    AxisMap& axis = axes[i];
    const std::int64_t size = old->shape.dims[i] * (groups > 1 && i == 1 ? groups : 1);
    if (counts_upwards(axis.from, size) && axis.times.empty()) axis.from.clear();
    copy = copy && axis.from.empty();
  }
  TensorPlan tensor;
  tensor.kind = copy ? TensorPlan::Kind::kCopy : TensorPlan::Kind::kMap;
  tensor.from = tensor_name(at.parent->id, param);
  if (!copy) {
    tensor.axes = std::move(axes);
    tensor.axes.resize(old->shape.rank());
    tensor.fill = fill;
    tensor.groups = groups;
  }
  made_[std::string(param)] = std::move(tensor);
}

void TransferWalk::set_constant(const NodeContext&, std::string_view param, double value) {
  if (spec(param) == nullptr) return;
  made_[std::string(param)] = {.name = {}, .kind = TensorPlan::Kind::kConstant, .fill = value};
}

void TransferWalk::set_identity(const NodeContext&, std::string_view param, std::vector<std::int64_t> tap) {
  made_[std::string(param)] = {.name = {}, .kind = TensorPlan::Kind::kIdentity, .tap = std::move(tap)};
}

bool TransferWalk::bias(const NodeContext& at, std::string_view param, const AxisMap& rows) {
  if (spec(param) == nullptr) return !has(at, param);
  if (has(at, param)) {
    map(at, param, {rows});
  } else {
    set_constant(at, param, 0);
  }
  return true;
}

std::size_t TransferWalk::latest(const NodeContext& at, std::size_t axis) const {
  std::size_t best = at.inputs.size(), place = 0;
  for (std::size_t i = 0; i < at.inputs.size(); ++i) {
    const ValueMapping& from = at.inputs[i];
    if (!from.exact || (axis != 0 && from.axis != 0 && from.axis != axis)) continue;
    const std::size_t order = m_.order.at(from.parent.node) + 1;
    if (order > place) best = i, place = order;
  }
  return best;
}

void TransferWalk::request_zero(const NodeContext& at, std::size_t i) {
  graph::Port port = at.child.inputs[i];
  while (port.slot == 0 && !m_.partner.contains(port.node)) {
    const graph::Node& node = m_.child.node(port.node);
    const graph::OpDef& def = *m_.ops.find(node.op);
    const AxisRule* rule = find_axis_rule(def);
    if (rule == nullptr || m_.child.consumers(node.id).size() != 1) return;
    const auto types = m_.child_types.inputs(node);
    const std::vector<graph::ParamSpec> specs =
        def.params ? def.params({types, node.attrs, def}) : std::vector<graph::ParamSpec>{};
    const bool can = std::ranges::any_of(rule->zeroed, [&](std::string_view name) {
      return std::ranges::find(specs, name, &graph::ParamSpec::name) != specs.end();
    });
    if (can) {
      requested_zero_.insert(node.id);
      return;
    }
    if (!def.facts.preserves_zero || node.inputs.size() != 1) return;
    port = node.inputs[0];
  }
}

}  // namespace lanista::zoo
