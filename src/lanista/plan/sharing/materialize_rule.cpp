#include "lanista/plan/sharing/materialize_rule.h"

#include <utility>
#include <vector>

#include "lanista/model/graph/infer.h"
#include "lanista/plan/sharing/logical_graph.h"

namespace lanista::sharing {
namespace {

constexpr std::int64_t kBatch = 64;  ///< Batch in which prefixes are computed, in samples.

/// Returns why the values of `cache` are not cached, or an empty text if they are. `saved_us` is what all epochs except
/// the first save, in microseconds, and `cache_bytes` the memory for them.
std::string refusal(const Materialized& cache, double saved_us, double bytes, double cache_bytes) {
  if (cache.compute_us_per_epoch <= cache.read_us_per_epoch) return "reading is not faster than computing";
  if (saved_us <= cache.store_us) return "too few epochs: they save less time than storing needs";
  if (bytes > cache_bytes) return "the values do not fit into the cache";
  return "";
}

}  // namespace

Result<Materialized> materialization_of(const graph::Graph& prefix, const PrefixReaders& readers,
                                        const graph::OpTable& ops, const plan::Costs& costs) {
  FusionMember member{.trial = TrialId{1}, .model = prefix, .frozen = {}, .recipe = {}, .alone = ""};
  for (const graph::NodeId id : prefix.ids()) member.frozen[id] = {};
  member.recipe.batch_size = kBatch;
  member.recipe.data.num_samples = readers.samples;
  std::vector<FusionMember> members;
  members.push_back(std::move(member));
  LANISTA_ASSIGN(const LogicalGraph graph, unite(std::move(members), ops));
  LANISTA_ASSIGN(const graph::Types types, graph::infer_shapes(prefix, ops));
  const graph::Port value = prefix.node(prefix.nodes_of("output").front()).inputs.front();

  double step_us = 0;
  for (const LogicalNode& node : graph.nodes) {
    if (node.data) continue;
    const OperatorWork* work = &node.work;
    step_us += op_us(costs, {&work, 1});
  }
  const double steps = static_cast<double>(readers.samples) / static_cast<double>(kBatch);
  Materialized out;
  out.bytes_per_sample = types.at(value).shape.elements_per_sample() * static_cast<std::int64_t>(sizeof(float));
  out.num_samples = readers.samples;
  out.epochs = readers.epochs;
  const double bytes = static_cast<double>(out.bytes_per_sample) * static_cast<double>(readers.samples);
  out.compute_us_per_epoch = step_us * steps;
  out.read_us_per_epoch = bytes / (1e3 * costs.prices.load_gb_per_second);
  out.store_us = bytes / (1e3 * costs.prices.store_gb_per_second);
  const double each = out.compute_us_per_epoch - out.read_us_per_epoch;
  out.saved_us = steps > 0 ? each / steps : 0;
  out.why_not =
      refusal(out, static_cast<double>(readers.epochs - 1) * each, bytes, static_cast<double>(readers.cache_bytes));
  out.pays = out.why_not.empty();
  return out;
}

}  // namespace lanista::sharing
