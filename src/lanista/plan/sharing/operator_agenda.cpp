#include "lanista/plan/sharing/operator_agenda.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "lanista/model/graph/flat_graph.h"

namespace lanista::fuse {
namespace {

// An operator as it came, waiting for its turn.
struct Unit {
  PlannedOp op;
  std::vector<std::size_t> members;  // whose lanes it has
  std::vector<std::size_t> users;
  std::size_t waits_for = 0;
  std::size_t depth = 0;
  std::optional<Digest> kind;  // none: it stays alone
  Digest structure;            // what it does and all above it does, weights aside
};

// Alike operators that are ready.
struct Bucket {
  std::vector<std::size_t> ready;
  std::vector<std::size_t> chosen;  // of those, one a trial at most
  double saving = 0;
  bool fresh = false;  // chosen and saving are up to date
};

class Agenda {
 public:
  Agenda(const LogicalGraph& graph, const CostModel& cost, const FusedGroup& group, std::vector<Declined>& declined)
      : graph_(graph), cost_(cost), declined_(declined) {
    const std::vector<std::size_t> members = group.members();
    std::map<std::size_t, std::size_t> unit_of;
    for (const PlannedOp& op : group.ops) {
      add_unit(op, members, unit_of);
      for (const std::size_t v : op.nodes) unit_of[v] = units_.size() - 1;
    }
    for (std::size_t u = 0; u < units_.size(); ++u) {
      if (units_[u].waits_for == 0) make_ready(u);
    }
  }

  std::vector<PlannedOp> run() && {
    while (scheduled_ < units_.size()) {
      if (!alone_.empty()) {
        schedule({schedule_alone()});
      } else if (const auto best = best_bucket()) {
        schedule(std::vector(buckets_.at(*best).chosen));  // a copy: the bucket may go
      } else {
        report_declined();
        schedule({shallowest()});
      }
    }
    return std::move(order_);
  }

 private:
  void add_unit(const PlannedOp& op, const std::vector<std::size_t>& members,
                const std::map<std::size_t, std::size_t>& unit_of) {
    Unit unit;
    unit.op = op;
    std::set<std::size_t> sources;
    const LogicalNode& first = graph_.nodes[op.nodes.front()];
    graph::HashInput key;
    key.digest(first.alike);
    for (const std::size_t v : op.nodes) {
      const std::vector<std::size_t> owners = owners_in(graph_.nodes[v], members);
      unit.members.insert(unit.members.end(), owners.begin(), owners.end());
      for (const OutputRef& wire : graph_.nodes[v].inputs) sources.insert(unit_of.at(wire.node));
    }
    for (const OutputRef& wire : first.inputs) key.digest(units_[unit_of.at(wire.node)].structure).number(wire.slot);
    unit.structure = key.finish();
    std::sort(unit.members.begin(), unit.members.end());
    unit.waits_for = sources.size();
    for (const std::size_t source : sources) {
      units_[source].users.push_back(units_.size());
      unit.depth = std::max(unit.depth, units_[source].depth + 1);
    }
    if (op.form != OpForm::kFanOut && first.work.launches > 0) {
      unit.kind = first.alike;
      ++waiting_[*unit.kind][unit.members];
    }
    units_.push_back(std::move(unit));
  }

  // Whether another trial still has an operator of this kind before it.
  bool has_partner(const Unit& unit) const { return unit.kind && waiting_.at(*unit.kind).size() > 1; }

  void make_ready(std::size_t u) {
    if (!has_partner(units_[u])) {
      alone_.insert({units_[u].depth, u});
      return;
    }
    Bucket& bucket = buckets_[*units_[u].kind];
    bucket.ready.push_back(u);
    bucket.fresh = false;
  }

  std::size_t schedule_alone() {
    const std::size_t u = alone_.begin()->second;
    alone_.erase(alone_.begin());
    return u;
  }

  // The kind whose merge saves most; none if no merge saves anything.
  std::optional<Digest> best_bucket() {
    const Digest* best = nullptr;
    for (auto& [kind, bucket] : buckets_) {
      if (!bucket.fresh) weigh(bucket);
      if (bucket.saving > 0 && (best == nullptr || rank(bucket) < rank(buckets_.at(*best)))) best = &kind;
    }
    return best == nullptr ? std::nullopt : std::optional(*best);
  }

  std::tuple<double, double, std::size_t> rank(const Bucket& bucket) const {
    double depth = 0;
    for (const std::size_t u : bucket.chosen) depth += static_cast<double>(units_[u].depth);
    return {-bucket.saving, depth / static_cast<double>(bucket.chosen.size()), bucket.chosen.front()};
  }

  void weigh(Bucket& bucket) const {
    bucket.fresh = true;
    bucket.saving = 0;
    bucket.chosen = choose(bucket.ready);
    if (bucket.chosen.size() < 2) return;
    for (const std::size_t u : bucket.chosen) bucket.saving += op_us(graph_, cost_, units_[u].op, lane_refs_);
    bucket.saving -= op_us(graph_, cost_, merged(bucket.chosen), lane_refs_);
  }

  // At most one unit a trial: those that share their node id with most others first, then their history.
  std::vector<std::size_t> choose(const std::vector<std::size_t>& ready) const {
    std::map<std::uint32_t, std::size_t> same_id;
    std::map<Digest, std::size_t> same_structure;
    for (const std::size_t u : ready) {
      ++same_id[id(u)];
      ++same_structure[units_[u].structure];
    }
    std::vector<std::size_t> order = ready;
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      const auto rank = [&](std::size_t u) {
        return std::tuple(~same_id.at(id(u)), ~same_structure.at(units_[u].structure), id(u), u);
      };
      return rank(a) < rank(b);
    });
    std::set<std::size_t> taken;
    std::vector<std::size_t> chosen;
    for (const std::size_t u : order) {
      const auto& members = units_[u].members;
      if (std::any_of(members.begin(), members.end(), [&](std::size_t m) { return taken.contains(m); })) continue;
      taken.insert(members.begin(), members.end());
      chosen.push_back(u);
    }
    std::sort(chosen.begin(), chosen.end());
    return chosen;
  }

  std::uint32_t id(std::size_t u) const { return graph_.nodes[units_[u].op.nodes.front()].owners.front().node->value; }

  PlannedOp merged(const std::vector<std::size_t>& units) const {
    if (units.size() == 1) return units_[units.front()].op;
    PlannedOp op{OpForm::kBatched, {}};
    for (const std::size_t u : units) {
      op.nodes.insert(op.nodes.end(), units_[u].op.nodes.begin(), units_[u].op.nodes.end());
    }
    return op;
  }

  void report_declined() {
    for (const auto& [kind, bucket] : buckets_) {
      if (bucket.chosen.size() < 2) continue;
      std::vector<std::size_t> members;
      for (const std::size_t u : bucket.chosen) {
        members.insert(members.end(), units_[u].members.begin(), units_[u].members.end());
      }
      if (!reported_.insert({kind, members}).second) continue;
      const std::string name = node_text(graph_.nodes[units_[bucket.chosen.front()].op.nodes.front()]);
      declined_.push_back({"batch", members, name + " as one operator is " + us_text(-bucket.saving) + " slower"});
    }
  }

  // With no merge that saves anything something has to go on.
  std::size_t shallowest() const {
    std::optional<std::size_t> best;
    for (const auto& [kind, bucket] : buckets_) {
      for (const std::size_t u : bucket.ready) {
        if (!best || std::pair(units_[u].depth, u) < std::pair(units_[*best].depth, *best)) best = u;
      }
    }
    return *best;
  }

  void schedule(const std::vector<std::size_t>& units) {
    PlannedOp op = merged(units);
    for (std::size_t lane = 0; lane < op.nodes.size(); ++lane) lane_refs_[op.nodes[lane]] = {order_.size(), lane};
    order_.push_back(std::move(op));
    scheduled_ += units.size();
    if (const auto kind = units_[units.front()].kind) remove_from_bucket(units, *kind);
    for (const std::size_t u : units) {
      for (const std::size_t user : units_[u].users) {
        if (--units_[user].waits_for == 0) make_ready(user);
      }
    }
  }

  // Takes units of a kind out of the lists; who has lost the last partner need not wait any longer.
  void remove_from_bucket(const std::vector<std::size_t>& units, const Digest& kind) {
    auto& waiting = waiting_.at(kind);
    for (const std::size_t u : units) {
      if (--waiting.at(units_[u].members) == 0) waiting.erase(units_[u].members);
    }
    const auto bucket = buckets_.find(kind);
    if (bucket == buckets_.end()) return;
    std::vector<std::size_t>& ready = bucket->second.ready;
    std::erase_if(ready, [&](std::size_t u) { return std::find(units.begin(), units.end(), u) != units.end(); });
    bucket->second.fresh = false;
    if (waiting.size() <= 1) {
      for (const std::size_t u : ready) alone_.insert({units_[u].depth, u});
      ready.clear();
    }
    if (ready.empty()) buckets_.erase(bucket);
  }

  const LogicalGraph& graph_;
  const CostModel& cost_;
  std::vector<Unit> units_;
  std::map<Digest, std::map<std::vector<std::size_t>, std::size_t>> waiting_;  // kind: whose units are not done
  std::map<Digest, Bucket> buckets_;
  std::set<std::pair<std::size_t, std::size_t>> alone_;  // (depth, unit): ready, and nobody to wait for
  ClassSlots lane_refs_;
  std::vector<Declined>& declined_;
  std::set<std::pair<Digest, std::vector<std::size_t>>> reported_;
  std::vector<PlannedOp> order_;
  std::size_t scheduled_ = 0;
};

}  // namespace

std::vector<PlannedOp> merge_operators(const LogicalGraph& graph, const CostModel& cost, const FusedGroup& group,
                                       std::vector<Declined>& declined) {
  return Agenda(graph, cost, group, declined).run();
}

}  // namespace lanista::fuse
