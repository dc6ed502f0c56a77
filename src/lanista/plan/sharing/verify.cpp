#include "lanista/plan/sharing/verify.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lanista/model/graph/flat_graph.h"
#include "lanista/plan/sharing/group.h"

namespace lanista::sharing {
namespace {

/// The checks of one plan. Each returns an error with the node that is wrong.
class Verifier {
 public:
  Verifier(const LogicalGraph& graph, const graph::OpTable& ops) : graph_(graph), ops_(ops) {}

  /// Checks that the graph has every node of every trial, connected as in its model.
  Result<void> check_graph() const {
    for (std::size_t v = 0; v < graph_.nodes.size(); ++v) {
      for (const OutputRef& wire : graph_.nodes[v].inputs) {
        if (wire.node >= v) return node_error("reads a later node", v);
      }
    }
    for (std::size_t m = 0; m < graph_.members.size(); ++m) LANISTA_TRY(check_member(m));
    for (std::size_t v = 0; v < graph_.nodes.size(); ++v) {
      for (const Owner& owner : graph_.nodes[v].owners) LANISTA_TRY(check_sharing(v, owner));
    }
    return {};
  }

  /// Checks the operators of these groups, and that together they have the `expected` members.
  Result<void> check_groups(const std::vector<FusedGroup>& groups, const std::vector<std::size_t>& expected) const {
    std::vector<std::size_t> members;
    for (const FusedGroup& group : groups) {
      const std::vector<std::size_t> inside = group.members();
      members.insert(members.end(), inside.begin(), inside.end());
      LANISTA_TRY(check_group(group));
      if (!group.parts.empty()) LANISTA_TRY(check_groups(group.parts, inside));
    }
    std::sort(members.begin(), members.end());
    if (members != expected) return plan_error("groups have wrong trials, or one trial twice");
    return {};
  }

 private:
  static Error plan_error(const std::string& what) { return {Code::kInternal, "plan: " + what, ""}; }
  Error node_error(const std::string& what, std::size_t v) const {
    const LogicalNode& node = graph_.nodes[v];
    std::string trials;
    for (const Owner& owner : node.owners) {
      trials += " " + std::to_string(graph_.members[owner.member].trial.value);
    }
    return plan_error("node " + std::to_string(v) + " (" + node_text(node) + ", trials" + trials + ") " + what);
  }

  Result<void> check_member(std::size_t m) const {
    const FusionMember& member = graph_.members[m];
    std::map<graph::NodeId, std::size_t> logical;
    std::size_t data = 0;
    std::size_t last_data = 0;
    std::set<std::size_t> seen;
    for (const std::size_t v : graph_.nodes_of_member[m]) {
      const auto& owners = graph_.nodes[v].owners;
      const auto mine = std::find_if(owners.begin(), owners.end(), [&](const Owner& o) { return o.member == m; });
      if (mine == owners.end() || !seen.insert(v).second)
        return node_error("is listed for a trial that does not own it, or twice", v);
      if (!mine->node) {
        ++data;
        last_data = v;
      } else if (!member.model.contains(*mine->node) || !logical.emplace(*mine->node, v).second) {
        return node_error("replaces a node that does not exist, or one twice", v);
      }
    }
    if (data != member.recipe.data.steps.size() + 1 || logical.size() != member.model.size()) {
      return plan_error("trial " + std::to_string(member.trial.value) + " has too few nodes");
    }
    for (const auto& [id, v] : logical) {
      std::vector<OutputRef> wires;
      for (const graph::Port& port : member.model.node(id).inputs) wires.push_back({logical.at(port.node), port.slot});
      if (wires.empty()) wires.push_back({last_data, 0});
      std::vector<OutputRef> given = graph_.nodes[v].inputs;
      const graph::OpDef& def = *ops_.find(member.model.node(id).op);
      if (def.commutative && wires.size() == 2) {
        std::sort(wires.begin(), wires.end());
        std::sort(given.begin(), given.end());
      }
      if (wires != given) return node_error("has other inputs than in its model", v);
    }
    return {};
  }

  /// Checks that the first owner may compute the node for `owner`.
  Result<void> check_sharing(std::size_t v, const Owner& owner) const {
    const LogicalNode& node = graph_.nodes[v];
    const FusionMember& first = graph_.members[node.owners.front().member];
    const FusionMember& other = graph_.members[owner.member];
    if (first.recipe.precision != other.recipe.precision)
      return node_error("is shared by trials of different precision", v);
    if (!owner.node) return check_data(v, first.recipe, other.recipe);
    const graph::Node& mine = other.model.node(*owner.node);
    if (!graph::same_operation(*node.work.operation, mine, ops_))
      return node_error("has another operation than in its model", v);
    const graph::OpDef& def = *ops_.find(mine.op);
    const graph::OpArgs args{node.work.inputs, mine.attrs, def};
    const bool weights = def.params && !def.params(args).empty();
    if (!weights && !def.random) return {};
    const auto digest = [](const FusionMember& member, graph::NodeId id) {
      const auto found = member.frozen.find(id);
      return found == member.frozen.end() ? std::optional<Digest>() : std::optional(found->second);
    };
    const std::optional<Digest> frozen = digest(other, *owner.node);
    if (frozen != digest(first, *node.owners.front().node)) return node_error("is shared with other weights", v);
    if (frozen || node.owners.size() == 1) return {};
    return node_error(weights ? "is trained, but shared" : "samples random masks of a trial, but is shared", v);
  }

  Result<void> check_data(std::size_t v, const StepRecipe& a, const StepRecipe& b) const {
    const bool same = a.data.dataset == b.data.dataset && a.data.split == b.data.split &&
                      a.data.order_seed == b.data.order_seed && a.batch_size == b.batch_size &&
                      a.local_step == b.local_step;
    if (!same) return node_error("is shared by trials that read other samples", v);
    const std::string& text = graph_.nodes[v].work.operation->op;
    const auto has = [&](const StepRecipe& recipe) {
      return std::any_of(recipe.data.steps.begin(), recipe.data.steps.end(),
                         [&](const DataStep& step) { return step.text == text; });
    };
    if (!graph_.nodes[v].inputs.empty() && !(has(a) && has(b)))
      return node_error("is not a data step of all its trials", v);
    return {};
  }

  Result<void> check_group(const FusedGroup& group) const {
    const std::vector<std::size_t> members = group.members();
    std::set<std::size_t> done;
    for (const PlannedOp& op : group.ops) {
      if (op.nodes.empty()) return plan_error("an operator has no lanes");
      for (const std::size_t v : op.nodes) {
        if (v >= graph_.nodes.size() || owners_in(graph_.nodes[v], members).empty()) {
          return plan_error("a group computes a node that none of its trials has");
        }
        for (const OutputRef& wire : graph_.nodes[v].inputs) {
          if (!done.contains(wire.node)) return node_error("is computed before its inputs", v);
        }
      }
      for (const std::size_t v : op.nodes) {
        if (!done.insert(v).second) return node_error("is computed twice", v);
      }
      LANISTA_TRY(check_lanes(op, members));
    }
    for (const std::size_t m : members) {
      for (const std::size_t v : graph_.nodes_of_member[m]) {
        if (!done.contains(v)) return node_error("is not computed", v);
      }
    }
    return {};
  }

  Result<void> check_lanes(const PlannedOp& op, const std::vector<std::size_t>& members) const {
    const LogicalNode& first = graph_.nodes[op.nodes.front()];
    const StepRecipe& recipe = graph_.members[first.owners.front().member].recipe;
    std::set<std::size_t> trials;
    for (const std::size_t v : op.nodes) {
      const LogicalNode& node = graph_.nodes[v];
      const StepRecipe& own = graph_.members[node.owners.front().member].recipe;
      if (!same_lane(*first.work.operation, *node.work.operation))
        return node_error("is not a lane of its operator", v);
      if (node.work.inputs != first.work.inputs || own.batch_size != recipe.batch_size ||
          own.precision != recipe.precision || node.frozen != first.frozen) {
        return node_error("has another shape, batch size, precision or form than its operator", v);
      }
      for (const std::size_t m : owners_in(node, members)) {
        if (!trials.insert(m).second) return node_error("is a second lane of one trial", v);
      }
    }
    return {};
  }

  bool same_lane(const graph::Node& a, const graph::Node& b) const {
    return graph::same_operation(graph::without_lane_attributes(a, ops_), graph::without_lane_attributes(b, ops_),
                                 ops_);
  }

  const LogicalGraph& graph_;
  const graph::OpTable& ops_;
};

}  // namespace

Result<void> verify(const FusionPlan& plan, const graph::OpTable& ops) {
  const Verifier verifier(plan.graph, ops);
  LANISTA_TRY(verifier.check_graph());
  std::vector<std::size_t> all(plan.graph.members.size());
  for (std::size_t m = 0; m < all.size(); ++m) all[m] = m;
  return verifier.check_groups(plan.groups, all);
}

}  // namespace lanista::sharing
