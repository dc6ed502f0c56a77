#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "lanista/model/graph/flat_graph.h"
#include "lanista/plan/sharing/group.h"
#include "lanista/plan/sharing/materialize_rule.h"

namespace lanista::fuse {
namespace {

// What a group could keep, with the times of one step.
struct Candidate {
  Materialized cache;
  double compute_us = 0;
  double read_us = 0;
  double steps_per_epoch = 0;
};

bool deterministic(const LogicalGraph& graph, const PlannedOp& op) {
  return std::all_of(op.nodes.begin(), op.nodes.end(), [&](std::size_t v) { return graph.nodes[v].deterministic; });
}

// Values that deterministic operators give to others.
std::set<OutputRef> frontier(const LogicalGraph& graph, const FusedGroup& group) {
  std::set<std::size_t> kept;
  std::set<OutputRef> wires;
  for (const PlannedOp& op : group.ops) {
    const bool keep = deterministic(graph, op);
    for (const std::size_t v : op.nodes) {
      if (keep) kept.insert(v);
      for (const OutputRef& wire : graph.nodes[v].inputs) {
        if (!keep && kept.contains(wire.node)) wires.insert(wire);
      }
    }
  }
  return wires;
}

Candidate candidate(const LogicalGraph& graph, const CostModel& cost, const FusedGroup& group) {
  Candidate found;
  ClassSlots lane_refs;
  for (std::size_t i = 0; i < group.ops.size(); ++i) {
    const PlannedOp& op = group.ops[i];
    if (deterministic(graph, op)) found.compute_us += op_us(graph, cost, op, lane_refs);
    for (std::size_t lane = 0; lane < op.nodes.size(); ++lane) lane_refs[op.nodes[lane]] = {i, lane};
  }
  // All members of a group have one batch size: fused by their step, packed by their stream.
  std::int64_t batch = 1;
  for (const std::size_t member : group.members()) {
    const StepRecipe& recipe = graph.members[member].recipe;
    batch = recipe.batch_size;
    found.cache.num_samples = std::max(found.cache.num_samples, recipe.data.num_samples);
    found.cache.epochs = std::max(found.cache.epochs, recipe.epochs);
  }
  std::map<std::pair<Digest, std::uint32_t>, std::int64_t> stored;  // streams may ask for the same values
  double read_bytes = 0;
  for (const OutputRef& wire : frontier(graph, group)) {
    const LogicalNode& node = graph.nodes[wire.node];
    found.cache.values.push_back(wire);
    stored[{node.sample_value, wire.slot}] = node.output_bytes[wire.slot] / batch;
    read_bytes += static_cast<double>(node.output_bytes[wire.slot]);
  }
  graph::HashInput key;
  for (const auto& [value, bytes] : stored) {
    key.digest(value.first).number(value.second);
    found.cache.bytes_per_sample += bytes;
  }
  found.cache.key = key.finish();
  found.read_us = cost.load_us(read_bytes);
  const std::int64_t steps = (found.cache.num_samples + batch - 1) / batch;
  found.steps_per_epoch = static_cast<double>(steps);
  found.cache.saved_us = found.compute_us - found.read_us;
  found.cache.compute_us_per_epoch = found.compute_us * found.steps_per_epoch;
  found.cache.read_us_per_epoch = found.read_us * found.steps_per_epoch;
  return found;
}

/// Keeps the values of deterministic prefixes for every sample (frozen backbones, decoded images). The first epoch
/// computes and stores them, so what is saved begins with the second.
class Materialize final : public Pass {
 public:
  std::string_view name() const override { return "materialize"; }

  Result<std::size_t> run(FusionPlan& plan, const PassContext& context) const override {
    std::vector<Candidate> found;
    std::map<Digest, std::vector<std::size_t>> users;  // numbers of groups
    std::vector<Digest> order;
    for (std::size_t g = 0; g < plan.groups.size(); ++g) {
      found.push_back(candidate(plan.graph, context.cost, plan.groups[g]));
      if (found[g].compute_us <= 0 || found[g].cache.values.empty() || found[g].steps_per_epoch <= 0) continue;
      auto& list = users[found[g].cache.key];
      if (list.empty()) order.push_back(found[g].cache.key);
      list.push_back(g);
    }
    std::size_t caches = 0;
    double room = static_cast<double>(context.limits.cache_bytes);
    for (const Digest& key : order) {
      const std::string why_not = decide(found, users.at(key), context.cost, room);
      if (why_not.empty()) ++caches;
      for (const std::size_t g : users.at(key)) {
        FusedGroup& group = plan.groups[g];
        group.cache = found[g].cache;
        group.cache->why_not = why_not;
        group.cache->pays = why_not.empty();
      }
    }
    return caches;
  }

 private:
  // Why the groups' common values are not kept; empty if they are, and then `room` has shrunk.
  static std::string decide(std::vector<Candidate>& found, const std::vector<std::size_t>& groups,
                            const CostModel& cost, double& room) {
    std::int64_t epochs = 0;
    double saved = -found[groups.front()].cache.compute_us_per_epoch + found[groups.front()].cache.read_us_per_epoch;
    double bytes = 0;
    bool faster = true;
    for (const std::size_t g : groups) {
      const Materialized& cache = found[g].cache;
      epochs += cache.epochs;
      const double each = cache.compute_us_per_epoch - cache.read_us_per_epoch;
      faster = faster && each > 0;
      saved += static_cast<double>(cache.epochs) * each;
      bytes = std::max(bytes, static_cast<double>(cache.bytes_per_sample) * static_cast<double>(cache.num_samples));
    }
    const double store_us = cost.store_us(bytes);
    for (const std::size_t g : groups) {
      found[g].cache.epochs = epochs;
      found[g].cache.store_us = store_us;
    }
    std::string why_not = materialize_refusal(faster, saved, store_us, bytes, room);
    if (why_not.empty()) room -= bytes;
    return why_not;
  }
};

}  // namespace

std::unique_ptr<Pass> materialize_pass() { return std::make_unique<Materialize>(); }

}  // namespace lanista::fuse
