#include "lanista/model/mutate/pattern.h"

#include <algorithm>

#include "lanista/base/check.h"
#include "lanista/model/mutate/op_words.h"
#include "lanista/model/ops/window.h"

namespace lanista::mutate {

using graph::AttrValue;
using graph::Node;
using graph::NodeId;

namespace {

/// Returns the numbers of an attribute, or no value for booleans and texts.
std::vector<double> numbers(const AttrValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return {static_cast<double>(*integer)};
  if (const auto* real = std::get_if<double>(&value)) return {*real};
  if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value)) return {list->begin(), list->end()};
  return {};
}

bool compare(double a, Comparison relation, double b) {
  switch (relation) {
    case Comparison::kEqual:
      return a == b;
    case Comparison::kUnequal:
      return a != b;
    case Comparison::kLess:
      return a < b;
    case Comparison::kLessOrEqual:
      return a <= b;
    case Comparison::kGreater:
      return a > b;
    case Comparison::kGreaterOrEqual:
      return a >= b;
  }
  return false;
}

bool holds(const AttrValue& have, Comparison relation, const AttrValue& want) {
  if (relation == Comparison::kUnequal) return !holds(have, Comparison::kEqual, want);
  const auto a = numbers(have);
  const auto b = numbers(want);
  if (a.empty() || b.empty()) return relation == Comparison::kEqual && have == want;
  const std::size_t size = std::max(a.size(), b.size());
  if ((a.size() != size && a.size() != 1) || (b.size() != size && b.size() != 1)) return false;
  for (std::size_t i = 0; i < size; ++i) {
    if (!compare(a[a.size() == 1 ? 0 : i], relation, b[b.size() == 1 ? 0 : i])) return false;
  }
  return true;
}

bool keeps_size(const ModelView& view, const Node& node) {
  const graph::OpDef& def = *view.ops().find(node.op);
  // Windows over sequences have integers under the same names.
  const auto has = [&](std::string_view name) {
    return std::any_of(def.attrs.begin(), def.attrs.end(), [&](const auto& spec) {
      return spec.name == name && std::holds_alternative<std::vector<std::int64_t>>(spec.default_value);
    });
  };
  if (!has("kernel") || !has("dilation")) return false;
  const auto args = view.args(node);
  const auto [kh, kw] = args.pair("kernel");
  const auto [dh, dw] = args.pair("dilation");
  const std::int64_t h = dh * (kh - 1);
  const std::int64_t w = dw * (kw - 1);
  return graph::ops::pads_of(args) == graph::ops::Pads{h / 2, h - h / 2, w / 2, w - w / 2};
}

/// The users of each node, by index, which makes a search linear.
std::vector<std::vector<NodeId>> readers_of(const graph::Graph& model) {
  std::vector<std::vector<NodeId>> readers(model.size());
  for (const auto& node : model.nodes()) {
    for (const graph::Port& port : node->inputs) readers[model.index_of(port.node)].push_back(node->id);
  }
  return readers;
}

class Search {
 public:
  Search(const ModelView& view, const std::vector<Pattern::Step>& steps)
      : view_(view), steps_(steps), readers_(readers_of(view.graph())) {}

  std::vector<Match> run() {
    for (const auto& node : view_.graph().nodes()) extend(*node);
    return std::move(found_);
  }

 private:
  /// The recursion is as deep as the chain is long.
  void extend(const Node& node) {
    const std::size_t depth = chain_.size();
    if (is_repair(node) || !steps_[depth].node.matches(view_, node)) return;
    chain_.push_back(node.id);
    if (depth + 1 == steps_.size()) {
      Match match{chain_, {}};
      for (const auto& step : steps_) match.names.push_back(step.node.name());
      found_.push_back(std::move(match));
    } else {
      const auto& readers = readers_[view_.graph().index_of(node.id)];
      const bool fits = steps_[depth + 1].shared || readers.size() == 1;
      for (std::size_t i = 0; fits && i < readers.size(); ++i) {
        // A node that reads a value twice counts as one reader.
        if (i == 0 || readers[i] != readers[i - 1]) extend(view_.graph().node(readers[i]));
      }
    }
    chain_.pop_back();
  }

  const ModelView& view_;
  const std::vector<Pattern::Step>& steps_;
  std::vector<std::vector<NodeId>> readers_;
  std::vector<NodeId> chain_;
  std::vector<Match> found_;
};

}  // namespace

// Only the last * can match more characters, so one position to return to is enough.
bool glob_matches(std::string_view glob, std::string_view text) {
  std::size_t g = 0;
  std::size_t t = 0;
  std::size_t star = std::string_view::npos;
  std::size_t taken = 0;
  while (t < text.size()) {
    if (g < glob.size() && glob[g] == '*') {
      star = g++;
      taken = t;
    } else if (g < glob.size() && (glob[g] == '?' || glob[g] == text[t])) {
      ++g;
      ++t;
    } else if (star != std::string_view::npos) {
      g = star + 1;
      t = ++taken;
    } else {
      return false;
    }
  }
  return glob.find_first_not_of('*', g) == std::string_view::npos;
}

bool NodePattern::matches(const ModelView& view, const Node& node) const {
  return std::all_of(terms_.begin(), terms_.end(), [&](const Term& term) { return term(view, node); });
}

NodePattern NodePattern::as(std::string name) && {
  name_ = std::move(name);
  return std::move(*this);
}

NodePattern operator&&(NodePattern a, const NodePattern& b) {
  a.terms_.insert(a.terms_.end(), b.terms_.begin(), b.terms_.end());
  return a;
}

NodePattern any() { return {}; }

NodePattern op(std::string name) {
  return NodePattern([name = std::move(name)](const ModelView& view, const Node& node) {
    return node.op == name || word_of(view, node) == name;
  });
}

NodePattern label(std::string glob) {
  return NodePattern(
      [glob = std::move(glob)](const ModelView&, const Node& node) { return glob_matches(glob, node.label); });
}

NodePattern node(NodeId id) {
  return NodePattern([id](const ModelView&, const Node& node) { return node.id == id; });
}

NodePattern attribute(std::string name, Comparison relation, AttrValue value) {
  return NodePattern([=](const ModelView& view, const Node& node) {
    const bool is_same_padding = name == "padding" && value == AttrValue(std::string("same"));
    if (is_same_padding) return keeps_size(view, node) == (relation == Comparison::kEqual);
    const graph::OpDef& def = *view.ops().find(node.op);
    const auto spec = std::find_if(def.attrs.begin(), def.attrs.end(), [&](const auto& s) { return s.name == name; });
    if (spec == def.attrs.end() || spec->role == graph::AttrRole::kDerived) return false;
    const AttrValue* given = node.attrs.find(name);
    return holds(given != nullptr ? *given : spec->default_value, relation, value);
  });
}

NodePattern one_of(const AttrName& attr, std::vector<AttrValue> values) {
  std::vector<NodePattern> each;
  for (AttrValue& value : values) each.push_back(attribute(attr.name, Comparison::kEqual, std::move(value)));
  return NodePattern([each = std::move(each)](const ModelView& view, const Node& node) {
    return std::any_of(each.begin(), each.end(), [&](const NodePattern& one) { return one.matches(view, node); });
  });
}

NodeId Match::operator[](std::string_view name) const {
  const auto at = std::find(names.begin(), names.end(), name);
  LANISTA_CHECK(at != names.end(), "the pattern names no node '" + std::string(name) + "'");
  return nodes[static_cast<std::size_t>(at - names.begin())];
}

Pattern Pattern::then(NodePattern next, bool shared) && {
  LANISTA_CHECK(steps_.size() < kMaxSteps, "a chain has at most 8 nodes");
  steps_.push_back({std::move(next), shared});
  return std::move(*this);
}

Pattern operator>>(Pattern chain, NodePattern next) { return std::move(chain).then(std::move(next)); }

std::vector<Match> Pattern::find(const ModelView& view) const { return Search(view, steps_).run(); }

bool Pattern::matches(const ModelView& view, const Node& node) const { return steps_.front().node.matches(view, node); }

}  // namespace lanista::mutate
