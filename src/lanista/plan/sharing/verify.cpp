#include "lanista/plan/sharing/verify.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lanista/model/graph/flat_graph.h"
#include "lanista/plan/sharing/group.h"

namespace lanista::fuse {
namespace {

class Verifier {
 public:
  Verifier(const LogicalGraph& graph, const graph::OpTable& ops, std::string_view after)
      : graph_(graph), ops_(ops), after_(after) {}

  // Every trial's nodes are there, wired as its model says.
  Result<void> union_holds() {
    for (std::size_t v = 0; v < graph_.nodes.size(); ++v) {
      for (const OutputRef& wire : graph_.nodes[v].inputs) {
        if (wire.node >= v) return plan_error("reads what comes later", v);
      }
    }
    for (std::size_t m = 0; m < graph_.members.size(); ++m) LANISTA_TRY(member_holds(m));
    for (std::size_t v = 0; v < graph_.nodes.size(); ++v) {
      for (const Owner& owner : graph_.nodes[v].owners) LANISTA_TRY(shareable(v, owner));
    }
    return {};
  }

  Result<void> groups_hold(const std::vector<FusedGroup>& groups, const std::vector<std::size_t>& expected) const {
    std::vector<std::size_t> members;
    for (const FusedGroup& group : groups) {
      const std::vector<std::size_t> inside = group.members();
      members.insert(members.end(), inside.begin(), inside.end());
      LANISTA_TRY(group_holds(group));
      if (!group.parts.empty()) LANISTA_TRY(groups_hold(group.parts, inside));
    }
    std::sort(members.begin(), members.end());
    if (members != expected) return fault("groups hold other trials than they should, or one twice");
    return {};
  }

 private:
  Error fault(const std::string& what) const {
    return {Code::kInternal, "plan after pass '" + std::string(after_) + "': " + what, ""};
  }
  Error plan_error(const std::string& what, std::size_t v) const {
    const LogicalNode& node = graph_.nodes[v];
    std::string trials;
    for (const Owner& owner : node.owners) {
      trials += " " + std::to_string(graph_.members[owner.member].trial.value);
    }
    return fault("node " + std::to_string(v) + " (" + node_text(node) + ", trials" + trials + ") " + what);
  }

  const LogicalNode& at(const OutputRef& wire) const { return graph_.nodes[wire.node]; }

  Result<void> member_holds(std::size_t m) {
    const FusionMember& member = graph_.members[m];
    std::map<graph::NodeId, std::size_t>& place = place_.emplace_back();
    std::size_t data = 0;
    std::size_t last_data = 0;
    std::set<std::size_t> seen;
    for (const std::size_t v : graph_.nodes_of_member[m]) {
      const auto& owners = graph_.nodes[v].owners;
      const auto mine = std::find_if(owners.begin(), owners.end(), [&](const Owner& o) { return o.member == m; });
      if (mine == owners.end() || !seen.insert(v).second) return plan_error("is in a trial's list wrongly", v);
      if (!mine->node) {
        ++data;
        last_data = v;
      } else if (!member.model.contains(*mine->node) || !place.emplace(*mine->node, v).second) {
        return plan_error("stands for a node that is not there, or twice", v);
      }
    }
    if (data != member.recipe.data.steps.size() + 1 || place.size() != member.model.size()) {
      return fault("trial " + std::to_string(member.trial.value) + " has lost nodes");
    }
    for (const auto& [id, v] : place) {
      std::vector<OutputRef> wires;
      for (const graph::Port& port : member.model.node(id).inputs) wires.push_back({place.at(port.node), port.slot});
      if (wires.empty()) wires.push_back({last_data, 0});
      std::vector<OutputRef> given = graph_.nodes[v].inputs;
      const graph::OpDef& def = *ops_.find(member.model.node(id).op);
      if (def.commutative && wires.size() == 2) {
        std::sort(wires.begin(), wires.end());
        std::sort(given.begin(), given.end());
      }
      if (wires != given) return plan_error("is not wired as its models say", v);
    }
    return {};
  }

  // Whether the first owner may compute for this one.
  Result<void> shareable(std::size_t v, const Owner& owner) const {
    const LogicalNode& node = graph_.nodes[v];
    const FusionMember& first = graph_.members[node.owners.front().member];
    const FusionMember& other = graph_.members[owner.member];
    if (first.recipe.precision != other.recipe.precision) return plan_error("is shared across precisions", v);
    if (!owner.node) return data_shareable(v, first.recipe, other.recipe);
    const graph::Node& mine = other.model.node(*owner.node);
    if (!graph::same_operation(*node.work.operation, mine, ops_)) return plan_error("stands for another operation", v);
    const graph::OpDef& def = *ops_.find(mine.op);
    const graph::OpArgs args{node.work.inputs, mine.attrs, def};
    const bool weights = def.params && !def.params(args).empty();
    if (!weights && !def.random) return {};
    const auto digest = [](const FusionMember& member, graph::NodeId id) {
      const auto found = member.frozen.find(id);
      return found == member.frozen.end() ? std::optional<Digest>() : std::optional(found->second);
    };
    const std::optional<Digest> frozen = digest(other, *owner.node);
    if (frozen != digest(first, *node.owners.front().node)) return plan_error("is shared with other weights", v);
    if (frozen || node.owners.size() == 1) return {};
    return plan_error(weights ? "is trained, but shared" : "draws a trial's own masks, but is shared", v);
  }

  Result<void> data_shareable(std::size_t v, const StepRecipe& a, const StepRecipe& b) const {
    const bool same = a.data.dataset == b.data.dataset && a.data.split == b.data.split &&
                      a.data.order_seed == b.data.order_seed && a.batch_size == b.batch_size &&
                      a.local_step == b.local_step;
    if (!same) return plan_error("is shared by trials that see other samples", v);
    const std::string& text = graph_.nodes[v].work.operation->op;
    const auto has = [&](const StepRecipe& recipe) {
      return std::any_of(recipe.data.steps.begin(), recipe.data.steps.end(),
                         [&](const DataStep& step) { return step.text == text; });
    };
    if (!graph_.nodes[v].inputs.empty() && !(has(a) && has(b)))
      return plan_error("is no data step of all its trials", v);
    return {};
  }

  Result<void> group_holds(const FusedGroup& group) const {
    const std::vector<std::size_t> members = group.members();
    std::set<std::size_t> done;
    for (const PlannedOp& op : group.ops) {
      if (op.nodes.empty()) return fault("an operator without lanes");
      for (const std::size_t v : op.nodes) {
        if (v >= graph_.nodes.size() || owners_in(graph_.nodes[v], members).empty()) {
          return fault("a group computes a node that none of its trials has");
        }
        for (const OutputRef& wire : graph_.nodes[v].inputs) {
          if (!done.contains(wire.node)) return plan_error("is computed before its inputs", v);
        }
      }
      for (const std::size_t v : op.nodes) {
        if (!done.insert(v).second) return plan_error("is computed twice", v);
      }
      LANISTA_TRY(lanes_hold(op, members));
    }
    for (const std::size_t m : members) {
      for (const std::size_t v : graph_.nodes_of_member[m]) {
        if (!done.contains(v)) return plan_error("is not computed", v);
      }
    }
    if (!group.cache) return {};
    for (const OutputRef& wire : group.cache->values) {
      if (!at(wire).deterministic) return plan_error("changes from epoch to epoch, but is kept", wire.node);
    }
    return {};
  }

  Result<void> lanes_hold(const PlannedOp& op, const std::vector<std::size_t>& members) const {
    if (op.form == OpForm::kAlone && op.nodes.size() > 1)
      return plan_error("stands alone, but has company", op.nodes[1]);
    const LogicalNode& first = graph_.nodes[op.nodes.front()];
    const StepRecipe& recipe = graph_.members[first.owners.front().member].recipe;
    std::set<std::size_t> trials;
    for (const std::size_t v : op.nodes) {
      const LogicalNode& node = graph_.nodes[v];
      const StepRecipe& own = graph_.members[node.owners.front().member].recipe;
      const bool fan_out = op.form == OpForm::kFanOut;
      if (fan_out && node.inputs != first.inputs) return plan_error("reads another value than its fan-out", v);
      if (!same_lane(*first.work.operation, *node.work.operation, fan_out)) {
        return plan_error("is no lane of its operator", v);
      }
      if (node.work.inputs != first.work.inputs || own.batch_size != recipe.batch_size ||
          own.precision != recipe.precision || node.frozen != first.frozen) {
        return plan_error("has another shape, batch size, precision or mode than its operator", v);
      }
      for (const std::size_t m : owners_in(node, members)) {
        if (!trials.insert(m).second && !fan_out) return plan_error("is a second lane of one trial", v);
      }
    }
    return {};
  }

  bool same_lane(const graph::Node& a, const graph::Node& b, bool fan_out) const {
    graph::Node left = graph::without_lane_attributes(a, ops_);
    graph::Node right = graph::without_lane_attributes(b, ops_);
    if (graph::same_operation(left, right, ops_)) return true;
    if (!fan_out) return false;
    left.attrs.erase("out");
    right.attrs.erase("out");
    return graph::same_operation(left, right, ops_);
  }

  const LogicalGraph& graph_;
  const graph::OpTable& ops_;
  std::string_view after_;
  std::vector<std::map<graph::NodeId, std::size_t>> place_;
};

}  // namespace

Result<void> verify(const FusionPlan& plan, const graph::OpTable& ops, std::string_view after) {
  Verifier verifier(plan.graph, ops, after);
  LANISTA_TRY(verifier.union_holds());
  std::vector<std::size_t> all(plan.graph.members.size());
  for (std::size_t m = 0; m < all.size(); ++m) all[m] = m;
  return verifier.groups_hold(plan.groups, all);
}

}  // namespace lanista::fuse
