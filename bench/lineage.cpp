#include "bench/lineage.h"

#include <algorithm>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "bench/arms.h"
#include "bench/node_match.h"
#include "lanista/model/graph/infer.h"
#include "lanista/model/graph/lineage.h"
#include "lanista/model/mutate/model_space.h"

namespace lanista::bench {
namespace {

using graph::NodeId;
using graph::Port;
using List = std::vector<std::int64_t>;

constexpr std::size_t kModels = 1000;
constexpr int kBlocks = 42;
constexpr std::size_t kReplayed = 20;

/// A residual network of 42 blocks. A block has convolution, norm and activation twice, and a sum.
graph::Graph residual_network() {
  graph::GraphBuilder builder;
  const auto then = [&](Port from, const char* op, graph::Attrs attrs = {}) {
    return Port{builder.add(op, {from}, std::move(attrs)), 0};
  };
  const graph::Attrs conv{{"out", std::int64_t{16}}, {"padding", List{1}}};
  Port end{builder.add("input", {}, {{"shape", List{3, 32, 32}}}), 0};
  end = then(end, "conv2d", conv);
  for (int block = 0; block < kBlocks; ++block) {
    const Port skip = end;
    for (int half = 0; half < 2; ++half) end = then(then(then(end, "conv2d", conv), "batch_norm"), "relu");
    end = {builder.add("add", {end, skip}), 0};
  }
  end = then(then(end, "global_avg_pool"), "linear", {{"out", std::int64_t{10}}});
  then(end, "output");
  return std::move(builder).take();
}

Result<std::vector<mutate::Candidate>> mutated_models(const mutate::ModelSpace& space) {
  std::vector<mutate::Candidate> models;
  const Rng rng(1);
  for (std::uint64_t i = 0; i < kModels; ++i) {
    const auto count = static_cast<std::int64_t>(1 + i % 3);
    // Every other model is the child of the one before, so that pairs are closely or distantly related.
    const mutate::Candidate parent = i % 2 == 1 ? models.back() : space.base(0);
    LANISTA_ASSIGN(auto model, space.mutate(parent, count, rng.split(i)));
    models.push_back(std::move(model));
  }
  return models;
}

Result<mutate::ModelSpace> space_of(graph::Graph base) {
  std::vector<std::shared_ptr<const mutate::Mutator>> mutators;
  for (const char* name : {"swap_op", "deepen", "remove", "add_skip"}) {
    const auto plugins = mutate::builtin_mutators();
    const auto plugin = std::find_if(plugins.begin(), plugins.end(), [&](const auto& p) { return p.name == name; });
    LANISTA_ASSIGN(const auto options, resolve_options(plugin->example, plugin->options));
    LANISTA_ASSIGN(auto made, plugin->make(options));
    mutators.push_back(std::move(made));
  }
  return mutate::ModelSpace::make(graph::builtin_ops(), {{"residual", std::move(base)}}, std::move(mutators), {}, {});
}

/// Checks that a node which two models share by id has equal structural hashes. Errors: kInternal.
Result<void> check_agreement(const graph::Graph& a, const graph::Graph& b, const graph::OpTable& ops) {
  const auto of_a = graph::structural_hashes(a, ops);
  const auto of_b = graph::structural_hashes(b, ops);
  const auto hash_in = [](const std::vector<graph::NodeHash>& hashes, NodeId id) {
    return std::find_if(hashes.begin(), hashes.end(), [&](const auto& h) { return h.id == id; })->hash;
  };
  for (const NodeId id : lineage_match(a, b, ops)) {
    if (hash_in(of_a, id) == hash_in(of_b, id)) continue;
    return Error{Code::kInternal, "node " + std::to_string(id.value) + " is shared by lineage, not by structure", ""};
  }
  return {};
}

/// An arm that gives microseconds a pair of neighbouring models.
template <class Work>
Arm per_pair(std::string name, const std::vector<mutate::Candidate>& models, Work work) {
  return {std::move(name), [&models, work] {
            std::size_t found = 0;
            const double begin = now_seconds();
            for (std::size_t i = 0; i + 1 < models.size(); ++i) found += work(models[i].graph, models[i + 1].graph);
            const double seconds = now_seconds() - begin;
            return found == 0 ? 0 : seconds / static_cast<double>(models.size() - 1) * 1e6;
          }};
}

/// Edits a second of attributes, wiring, additions and removals, with commits.
double edits_per_second(const graph::Graph& base, const graph::OpTable& ops) {
  constexpr int kRounds = 500;
  const auto layers = base.nodes_of("conv2d");
  std::size_t edits = 0;
  const double begin = now_seconds();
  for (std::size_t round = 0; round < kRounds; ++round) {
    graph::Editor edit(base, ops);
    for (std::size_t i = 0; i < 5; ++i) {
      const NodeId layer = layers[(round * 7 + i * 11) % layers.size()];
      edit.set(layer, "bias", i % 2 == 0);
      edit.bypass(edit.insert_after({layer, 0}, "gelu"));
    }
    auto edited = std::move(edit).commit();
    LANISTA_CHECK(edited.ok(),
                  "the edits of the benchmark are valid: " + (edited ? std::string() : edited.error().text()));
    edits += edited->edits.size();
  }
  return static_cast<double>(edits) / (now_seconds() - begin);
}

double replay_microseconds(const mutate::ModelSpace& space, std::span<const graph::Edit> edits) {
  constexpr int kRounds = 500;
  const double begin = now_seconds();
  for (int round = 0; round < kRounds; ++round) {
    const auto graph = space.rebuild(0, edits);
    LANISTA_CHECK(graph.ok(),
                  "the edits of the benchmark are valid: " + (graph ? std::string() : graph.error().text()));
  }
  return (now_seconds() - begin) / kRounds * 1e6;
}

/// The edits of a random model with exactly 20 of them.
Result<std::vector<graph::Edit>> twenty_edits(const mutate::ModelSpace& space) {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    mutate::Candidate now = space.base(0);
    for (std::uint64_t i = 0; now.edits.size() < kReplayed; ++i) {
      LANISTA_ASSIGN(now, space.mutate(now, 1, Rng(seed).split(i)));
    }
    if (now.edits.size() == kReplayed) return now.edits;
  }
  return Error{Code::kInternal, "none of 1,000 random models has exactly 20 edits", ""};
}

}  // namespace

Result<void> lineage(int repeats, bool json, std::ostream& out) {
  LANISTA_ASSIGN(const auto space, space_of(residual_network()));
  const graph::OpTable& ops = space.ops();
  LANISTA_ASSIGN(const auto models, mutated_models(space));
  for (std::size_t i = 0; i + 1 < models.size(); i += 10) {
    LANISTA_TRY(check_agreement(models[i].graph, models[i + 1].graph, ops));
  }
  const auto& base = space.bases().front().graph;
  const std::string size = std::to_string(base.size());

  const std::vector<Arm> pairs{
      per_pair("lineage", models, [&ops](const auto& a, const auto& b) { return lineage_match(a, b, ops).size(); }),
      per_pair("structure", models,
               [&ops](const auto& a, const auto& b) { return structural_match(a, b, ops).size(); })};
  for (const auto& row : run_interleaved("lineage", "pair/" + size, "us", pairs, repeats)) print(row, json, out);

  const std::vector<Arm> edits{{"ours", [&] { return edits_per_second(base, ops); }}};
  for (const auto& row : run_interleaved("lineage", "edit/" + size, "edits/s", edits, repeats)) print(row, json, out);

  LANISTA_ASSIGN(const auto replayed, twenty_edits(space));
  const std::vector<Arm> replay{{"ours", [&] { return replay_microseconds(space, replayed); }}};
  for (const auto& row : run_interleaved("lineage", "replay-20/" + size, "us", replay, repeats)) print(row, json, out);
  return {};
}

}  // namespace lanista::bench
