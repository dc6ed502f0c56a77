// Mutator "input": connects a node to another earlier value, or adds an input.
#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "lanista/base/option_specs.h"
#include "lanista/model/graph/flat_graph.h"
#include "lanista/model/graph/infer.h"
#include "lanista/model/graph/size_limits.h"
#include "lanista/model/mutate/builtin.h"
#include "lanista/model/mutate/compound_edits.h"
#include "lanista/model/mutate/pattern_option.h"
#include "lanista/model/mutate/shape_repair_table.h"

namespace lanista::mutate {

using graph::Node;
using graph::NodeId;
using graph::Port;

namespace {

/// Makes the model in which a node reads `from` over this edge, instead of its value or (`adds`) in addition.
Result<graph::Edited> rewired(const ModelView& view, graph::Use edge, NodeId from, bool adds,
                              const RepairPolicy& repair) {
  const Node& node = view.graph().node(edge.node);
  graph::Editor editor(view.graph(), view.ops());
  if (edge.slot == node.inputs.size()) {
    editor.set_input(edge.node, edge.slot, {from, 0});
    return finish_mutation(std::move(editor), view, repair);
  }
  const Port old = node.inputs[edge.slot];
  LANISTA_ASSIGN(const auto plan, plan_shape_repair(view.type(from), view.type(old.node), repair));
  const Port fitted = emit_shape_repair(editor, {from, 0}, plan);
  if (adds) {
    editor.set_input(edge.node, edge.slot, {editor.add("add", {old, fitted}, {}, std::string(kSkipLabel)), 0});
  } else {
    rewire(editor, edge, fitted);
  }
  return finish_mutation(std::move(editor), view, repair);
}

/// Finds the possible values of edges. Inputs keep their types, so types alone nearly always decide. A
/// model is built and typed only if a join would change its shape, or if the result could equal the model.
class Edges {
 public:
  Edges(const ModelView& view, const PatternOption& from, bool adds, const RepairPolicy& repair)
      : view_(view),
        adds_(adds),
        repair_(repair),
        fits_(view, repair),
        flat_(graph::flatten(view.graph(), view.ops())) {
    const auto merkle_hashes = graph::merkle_hashes(flat_);
    for (std::size_t place = 0; place < flat_.size(); ++place) {
      const Node& node = *flat_.nodes[place];
      places_[node.id] = place;
      merkle_[node.id] = merkle_hashes[place];
      if (!is_repair(node) && from.pattern.matches(view, node)) values_.push_back(node.id);
    }
  }

  /// The possible edges of a node: all its inputs, or the next input of a join.
  std::vector<graph::Use> of(const Node& node) const {
    if (adds_ && is_variadic(node)) return {{node.id, static_cast<std::uint32_t>(node.inputs.size())}};
    std::vector<graph::Use> edges;
    for (std::uint32_t slot = 0; slot < node.inputs.size(); ++slot) edges.push_back({node.id, slot});
    return edges;
  }

  /// Whether any value is possible. Otherwise `why` gets the reason of the last one.
  bool any(graph::Use edge, std::string& why) {
    return !each(edge, [&](NodeId, const std::optional<std::string>& objection) {
      if (objection) why = *objection;
      return objection.has_value();
    });
  }

  /// Returns all possible values, in dependency order.
  std::vector<NodeId> sources(graph::Use edge) {
    std::vector<NodeId> all;
    each(edge, [&](NodeId from, const std::optional<std::string>& objection) {
      if (!objection) all.push_back(from);
      return true;
    });
    return all;
  }

 private:
  bool is_variadic(const Node& node) const { return view_.ops().find(node.op)->max_inputs < 0; }

  /// Visits the values before the node, in dependency order, that match `from` and that it does not read, while
  /// `visit` returns true. Returns false if `visit` did.
  template <class Visit>
  bool each(graph::Use edge, Visit visit) {
    const Node& node = view_.graph().node(edge.node);
    std::set<NodeId> read;
    for (const Port port : node.inputs) read.insert({port.node, unrepaired(view_.graph(), port)});
    for (const NodeId from : values_) {
      if (places_.at(from) >= places_.at(node.id)) break;
      if (!read.contains(from) && !visit(from, objection(edge, from))) return false;
    }
    return true;
  }

  std::optional<std::string> objection(graph::Use edge, NodeId from) {
    const Node& node = view_.graph().node(edge.node);
    if (edge.slot == node.inputs.size()) return join_objection(node, from);
    const Port old = node.inputs[edge.slot];
    if (old.slot != 0) return tried(edge, from);
    if (const auto& why = fits_.objection(from, old.node)) return why;
    if (adds_) return sum_objection(old.node);
    return may_be_the_same(old.node, from) ? tried(edge, from) : std::nullopt;
  }

  /// Whether an add can have the type of `value`.
  std::optional<std::string> sum_objection(NodeId value) const {
    const std::vector<graph::ValueType> both(2, view_.type(value));
    const auto sum = result_type(view_.ops(), "add", {}, both);
    return sum ? std::nullopt : std::optional(sum.error().message);
  }

  /// A cached answer for all values of a type.
  std::optional<std::string> join_objection(const Node& node, NodeId from) {
    const auto [known, is_new] = joins_.try_emplace({node.id, fits_.type_number(from)});
    if (is_new && !keeps_its_shape(node, from)) {
      known->second = tried({node.id, static_cast<std::uint32_t>(node.inputs.size())}, from);
    }
    return known->second;
  }

  /// Whether only `from` needs a repair: not the other inputs of the join, nor its users.
  bool keeps_its_shape(const Node& join, NodeId from) {
    const bool concatenates = view_.ops().find(join.op)->facts.units == graph::UnitFlow::kConcat;
    if (!is_join(view_.ops(), join.op) || concatenates || join.inputs.size() >= graph::kMaxTextInputs) return false;
    std::vector<graph::ValueType> inputs = view_.inputs(join);
    const graph::ValueType now = inputs.front();
    inputs.push_back(view_.type(from));
    const bool stays = std::all_of(inputs.begin(), inputs.end() - 1, [&](const auto& type) { return type == now; }) &&
                       common_type(inputs, repair_) == now && join.inputs.front().slot == 0;
    if (!stays || fits_.objection(from, join.inputs.front().node)) return false;
    inputs.back() = now;
    const auto result = result_type(view_.ops(), join.op, join.attrs, inputs);
    return result && *result == view_.type(join.id);
  }

  /// Whether the value already comes from `from` through equal nodes. The Merkle hash of the
  /// output covers that of the value, so the model changes if the value does.
  bool may_be_the_same(NodeId value, NodeId from) {
    const std::vector<RepairOp>& plan = *fits_.plan(from, value);
    for (auto piece = plan.rbegin(); piece != plan.rend(); ++piece) {
      const Node& node = view_.graph().node(value);
      if (node.op != piece->op || node.inputs.empty()) return false;
      value = node.inputs.front().node;
    }
    return merkle_.at(value) == merkle_.at(from);
  }

  std::optional<std::string> tried(graph::Use edge, NodeId from) {
    const auto made = rewired(view_, edge, from, adds_, repair_);
    if (!made) return made.error().message;
    if (!before_) before_ = graph::canonical_hash(view_.graph(), view_.ops());
    if (graph::canonical_hash(made->graph, view_.ops()) != *before_) return std::nullopt;
    return "a projection would only take the place of an equal layer";
  }

  const ModelView& view_;
  bool adds_;
  const RepairPolicy& repair_;
  ShapeRepairTable fits_;
  graph::FlatGraph flat_;
  std::map<NodeId, std::size_t> places_;  ///< in dependency order
  std::map<NodeId, Digest> merkle_;
  std::vector<NodeId> values_;  ///< values that match `from`, in dependency order
  std::map<std::pair<NodeId, std::size_t>, std::optional<std::string>> joins_;
  std::optional<Digest> before_;
};

class Input final : public ViewMutator {
 public:
  Input(PatternOption match, PatternOption from, bool adds)
      : ViewMutator("input"), match_(std::move(match)), from_(std::move(from)), adds_(adds) {}

  Result<graph::Edited> edit(const ModelView& view, const RepairPolicy& repair, space::Chooser& choose) const override {
    Edges edges(view, from_, adds_, repair);
    std::vector<graph::Use> sites;
    SiteLog log;
    for (const Match& match : match_.pattern.find(view)) {
      const Node& node = view.graph().node(match.nodes.front());
      if (node.is_output()) continue;
      std::string why = "no other value comes before it";
      const std::size_t sites_before = sites.size();
      for (const graph::Use edge : edges.of(node)) {
        if (edges.any(edge, why)) sites.push_back(edge);
      }
      if (sites.size() == sites_before && !node.inputs.empty()) log.reject(node, why);
    }
    if (sites.empty()) return log.error(name(), match_.what("node"));
    const graph::Use site = choose.one_of("site", sites);
    return rewired(view, site, choose.one_of("from", edges.sources(site)), adds_, repair);
  }

 private:
  PatternOption match_;
  PatternOption from_;
  bool adds_;
};

}  // namespace

MutatorPlugin input_plugin() {
  return {
      "input",
      "lets a node read another, earlier value instead of one of its own, or one more",
      {text_option("match", "", "which nodes, e.g. \"add & label(cell*)\"; empty: all"),
       text_option("from", "", "which earlier values, e.g. \"relu\"; empty: all"),
       text_option("mode", "rewire",
                   "rewire: instead of an input; add: a further input of a join, for others a sum with what is read",
                   {"rewire", "add"})},
      [](const Options& options) -> Result<std::unique_ptr<Mutator>> {
        LANISTA_ASSIGN(auto match, PatternOption::read(options, "match", 1));
        LANISTA_ASSIGN(auto from, PatternOption::read(options, "from", 1));
        const bool adds = options.at("mode") == "add";
        return std::unique_ptr<Mutator>(std::make_unique<Input>(std::move(match), std::move(from), adds));
      }};
}

}  // namespace lanista::mutate
