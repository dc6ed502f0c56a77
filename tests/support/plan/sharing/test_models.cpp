#include "support/plan/sharing/test_models.h"

#include <map>
#include <numeric>
#include <utility>

#include "lanista/base/check.h"
#include "lanista/model/graph/editor.h"
#include "lanista/model/graph/text.h"
#include "lanista/plan/sharing/structure.h"

namespace lanista::sharing::testing {
namespace {

/// Returns the model after one mutation of a random node: a wider layer, another activation, a new node or a skip.
graph::Graph mutated(const graph::Graph& model, const graph::OpTable& ops, Rng& rng) {
  const auto topo = model.topo();
  const graph::NodeId at = topo[rng.below(topo.size() - 1)];
  graph::Editor edit(model, ops);
  switch (rng.below(4)) {
    case 0:
      if (model.node(at).op != "linear" || model.consumers(at).empty()) return model;
      edit.set(at, "out", rng.between(2, 6) * 4);
      break;
    case 1:
      if (model.node(at).op != "relu") return model;
      edit.replace(at, rng.bernoulli(0.5) ? "tanh" : "sigmoid", {});
      break;
    case 2:
      edit.insert_after({at, 0}, rng.bernoulli(0.3) ? "dropout" : "relu");
      break;
    default: {
      const graph::NodeId relu = edit.insert_after({at, 0}, "relu");
      const graph::NodeId sum = edit.insert_after({relu, 0}, "identity");
      edit.replace(sum, "add", {});
      edit.set_input(sum, 1, {at, 0});
    }
  }
  auto edited = std::move(edit).commit();
  return edited ? std::move(*edited).graph : model;  // For example, the width of the last layer is fixed.
}

/// Freezes a random number of nodes, from the input on.
void freeze(FusionMember& member, Rng& rng) {
  const Digest weights{rng.below(2), 7};
  std::uint64_t left = rng.below(6);
  for (const graph::NodeId id : member.model.topo()) {
    if (left == 0) return;
    member.frozen[id] = weights;
    --left;
  }
}

}  // namespace

const graph::OpTable& ops() {
  static const graph::OpTable table = graph::builtin_ops();
  return table;
}

graph::Graph parsed(const std::string& text) {
  auto model = graph::parse(text);
  LANISTA_CHECK(model.ok(), model ? "" : model.error().text());
  return *std::move(model);
}

graph::Graph mlp(std::int64_t width) {
  return parsed("%0 = input(shape=[8])\n%1 = linear(%0, out=" + std::to_string(width) +
                ")\n%2 = relu(%1)\n%3 = linear(%2, out=3)\n%4 = output(%3)\n");
}

graph::Graph backbone_with_head(std::int64_t width) {
  return parsed(
      "%0 = input(shape=[1,8,8])\n%1 = conv2d(%0, out=4)\n%2 = relu(%1)\n%3 = conv2d(%2, out=4)\n%4 = relu(%3)\n"
      "%5 = flatten(%4)\n%6 = linear(%5, out=" +
      std::to_string(width) + ")\n%7 = relu(%6)\n%8 = linear(%7, out=3)\n%9 = output(%8)\n");
}

FusionMember member(std::uint32_t trial, graph::Graph model) {
  FusionMember made;
  made.trial = TrialId{trial};
  made.model = std::move(model);
  made.recipe.data.dataset = Digest{1, 2};
  made.recipe.data.num_samples = 320;
  made.recipe.data.steps = {{"read", false, 8, 256}, {"normalize", false, 2, 256}};
  return made;
}

std::vector<FusionMember> population(Rng& rng, const graph::OpTable& ops) {
  const std::vector<graph::Graph> bases{mlp(), backbone_with_head()};
  std::vector<FusionMember> all;
  const std::uint64_t size = 2 + rng.below(11);
  for (std::uint32_t trial = 1; trial <= size; ++trial) {
    graph::Graph model =
        all.empty() || rng.bernoulli(0.3) ? bases[rng.below(bases.size())] : all[rng.below(all.size())].model;
    for (std::uint64_t i = rng.below(4); i > 0; --i) model = mutated(model, ops, rng);
    FusionMember one = member(trial, std::move(model));
    one.recipe.batch_size = rng.bernoulli(0.8) ? 32 : 16;
    one.recipe.local_step = rng.bernoulli(0.8) ? 0 : 10;
    one.recipe.epochs = rng.between(1, 20);
    one.recipe.step.optimizer = rng.bernoulli(0.8) ? "sgd" : "adam";
    if (rng.bernoulli(0.3)) one.recipe.data.steps.push_back({"flip", true, 1, 256});
    if (rng.bernoulli(0.1)) one.alone = "its group failed";
    if (rng.bernoulli(0.6)) freeze(one, rng);
    all.push_back(std::move(one));
  }
  return all;
}

std::size_t nodes_saved(const std::vector<FusionMember>& members) {
  auto graph = unite(members, graph::builtin_ops());
  LANISTA_CHECK(graph.ok(), graph ? "" : graph.error().text());
  return merge_equal(*graph);
}

FusionPlan planned(std::vector<FusionMember> members, const std::vector<std::vector<std::size_t>>& programs,
                   const plan::Costs& costs) {
  auto plan = plan_of(std::move(members), programs, ops(), costs);
  LANISTA_CHECK(plan.ok(), plan ? "" : plan.error().text());
  return *std::move(plan);
}

std::vector<std::vector<std::size_t>> one_program(std::size_t lanes) {
  std::vector<std::size_t> members(lanes);
  std::iota(members.begin(), members.end(), 0);
  return {std::move(members)};
}

std::vector<std::vector<std::size_t>> programs_by_step(const std::vector<FusionMember>& members) {
  const auto graph = unite(members, ops());
  LANISTA_CHECK(graph.ok(), graph ? "" : graph.error().text());
  std::vector<std::vector<std::size_t>> programs;
  std::map<Digest, std::size_t> program_of;
  for (std::size_t m = 0; m < members.size(); ++m) {
    std::size_t program = programs.size();
    if (members[m].alone.empty()) program = program_of.try_emplace(step_key(*graph, m), program).first->second;
    if (program == programs.size()) programs.emplace_back();
    programs[program].push_back(m);
  }
  return programs;
}

}  // namespace lanista::sharing::testing
