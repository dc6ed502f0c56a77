// Mutator "input" finds the same sites as a search through all possible models.
#include <algorithm>
#include <memory>

#include "lanista/model/mutate/compound_edits.h"
#include "lanista/model/mutate/shape_repair.h"
#include "support/model/mutate/test_models.h"

namespace lanista::mutate {
namespace {

using graph::Node;
using graph::NodeId;
using graph::Port;

/// The model in which input `slot` of the node reads `from` instead or (`adds`) in addition, built in full.
Result<graph::Edited> rewired(const ModelView& view, const Node& node, std::uint32_t slot, NodeId from, bool adds,
                              const RepairPolicy& repair) {
  graph::Editor editor(view.graph(), view.ops());
  const bool joins = adds && view.ops().find(node.op)->max_inputs < 0;
  if (joins) {
    editor.set_input(node.id, static_cast<std::uint32_t>(node.inputs.size()), {from, 0});
    return finish_mutation(std::move(editor), view, repair);
  }
  const Port old = node.inputs[slot];
  LANISTA_ASSIGN(const auto plan, plan_shape_repair(view.type(from), view.type(old.node), repair));
  const Port fitted = emit_shape_repair(editor, {from, 0}, plan);
  if (adds) {
    editor.set_input(node.id, slot, {editor.add("add", {old, fitted}, {}, std::string(kSkipLabel)), 0});
  } else {
    rewire(editor, {node.id, slot}, fitted);
  }
  return finish_mutation(std::move(editor), view, repair);
}

/// For each edge with another possible value, the texts of the resulting models.
std::vector<std::vector<std::string>> by_search(const graph::Graph& model, bool adds, const RepairPolicy& repair) {
  const auto ops = graph::builtin_ops();
  const ModelView view = *ModelView::make(model, ops);
  const std::vector<NodeId> order = model.topo();
  std::vector<std::vector<std::string>> sites;
  for (const auto& node : model.nodes()) {
    if (node->op == "output" || is_repair(*node)) continue;
    const bool joins = adds && ops.find(node->op)->max_inputs < 0;
    for (std::uint32_t slot = 0; slot < (joins ? 1 : node->inputs.size()); ++slot) {
      std::vector<std::string> texts;
      for (auto from = order.begin(); *from != node->id; ++from) {
        const bool reads = std::any_of(node->inputs.begin(), node->inputs.end(),
                                       [&](Port p) { return p.node == *from || unrepaired(model, p) == *from; });
        if (reads || is_repair(model.node(*from))) continue;
        const auto made = rewired(view, *node, slot, *from, adds, repair);
        if (!made || graph::canonical_hash(made->graph, ops) == graph::canonical_hash(model, ops)) continue;
        texts.push_back(graph::to_text(made->graph));
      }
      if (!texts.empty()) sites.push_back(std::move(texts));
    }
  }
  return sites;
}

void expect_same_sites(const graph::Graph& model, const RepairPolicy& repair) {
  for (const bool adds : {false, true}) {
    const auto input = testing::mutator("input", {{"mode", adds ? "add" : "rewire"}});
    const auto sites = by_search(model, adds, repair);
    if (sites.empty()) {
      EXPECT_TRUE(testing::mutated(*input, model, {}, repair).starts_with("not_applicable: input: no site among"));
    }
    for (std::size_t site = 0; site < sites.size(); ++site) {
      // All sources are counted; the models of the first, the last and one between are compared.
      const std::size_t count = sites[site].size();
      for (const std::size_t from : {std::size_t{0}, count / 2, count - 1}) {
        testing::ScriptedChooser choose({static_cast<std::int64_t>(site), static_cast<std::int64_t>(from)});
        const auto made = testing::apply(*input, model, choose, repair);
        ASSERT_TRUE(made.ok()) << made.error().text() << "\n" << graph::to_text(model);
        ASSERT_EQ(choose.asked_labels(), "site/" + std::to_string(sites.size()) + " from/" + std::to_string(count))
            << "site " << site << " of\n"
            << graph::to_text(model);
        ASSERT_EQ(graph::to_text(made->graph), sites[site][from]);
      }
    }
  }
}

constexpr RepairPolicy kPolicies[] = {
    {RepairPolicy::Channels::kProject, RepairPolicy::Spatial::kPool},
    {RepairPolicy::Channels::kPad, RepairPolicy::Spatial::kInterpolate},
    {RepairPolicy::Channels::kPad, RepairPolicy::Spatial::kPool},
    {RepairPolicy::Channels::kReject, RepairPolicy::Spatial::kReject},
};

TEST(Input, MatchesExhaustiveSearch) {
  for (const BaseModel& base : testing::all_bases()) {
    for (const RepairPolicy& repair : kPolicies) expect_same_sites(base.graph, repair);
  }
}

TEST(Input, FindsSitesInMutatedModels) {
  std::vector<std::shared_ptr<const Mutator>> mutators;
  for (const char* name : {"add_skip", "deepen", "swap_op", "widen"}) mutators.push_back(testing::mutator(name));
  for (const char* mode : {"rewire", "add"}) mutators.push_back(testing::mutator("input", {{"mode", mode}}));
  const auto space = ModelSpace::make(graph::builtin_ops(), testing::all_bases(), mutators, {}, {});
  ASSERT_TRUE(space.ok()) << space.error().text();
  int models = 0;
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    const auto mutated = space->mutate(space->base(static_cast<std::int64_t>(seed % 4)), 4, Rng(seed));
    if (!mutated) continue;
    ++models;
    expect_same_sites(mutated->graph, kPolicies[seed / 4 % std::size(kPolicies)]);
  }
  EXPECT_GE(models, 8);
}

TEST(Input, RejectsEquivalentModel) {
  // %4 could read %1 through a projection like %2, or %3 instead of its equal.
  const auto duplicates = testing::model(
      "%0 = input(shape=[6])\n%1 = linear(%0, out=4)\n%2 = linear(%1, out=5)\n%3 = relu(%2)\n"
      "%4 = relu(%2)\n%5 = tanh(%3)\n%6 = tanh(%4)\n%7 = tanh(%4)\n%8 = concat(%5, %6, %7)\n%9 = output(%8)\n");
  expect_same_sites(duplicates, {});
}

/// Residual blocks of four nodes. After each third, images have half the size and twice the channels.
graph::Graph deep_model(int blocks) {
  std::string text = "%0 = input(shape=[3,16,16])\n%1 = conv2d(%0, out=8, padding=[1])\n";
  int last = 1, channels = 8;
  const auto add = [&](const std::string& line) { text += "%" + std::to_string(++last) + " = " + line + "\n"; };
  const auto at = [](int id) { return "%" + std::to_string(id); };
  for (int i = 0; i < blocks; ++i) {
    if (i > 0 && i % (blocks / 3) == 0) {
      channels *= 2;
      add("conv2d(" + at(last) + ", out=" + std::to_string(channels) + ", padding=[1], stride=[2])");
    }
    const int entry = last;
    add("conv2d(" + at(last) + ", out=" + std::to_string(channels) + ", padding=[1])");
    add("batch_norm(" + at(last) + ")");
    add("relu(" + at(last) + ")");
    add("add(" + at(entry) + ", " + at(last) + ")");
  }
  add("global_avg_pool(" + at(last) + ")");
  add("linear(" + at(last) + ", out=10)");
  add("output(" + at(last) + ")");
  return testing::model(text);
}

/// The built-in operators, with a count of their shape inferences.
graph::OpTable counting_ops(std::shared_ptr<std::int64_t> asked_labels) {
  const graph::OpTable ops = graph::builtin_ops();
  graph::OpTable counting;
  for (const std::string& name : ops.names()) {
    graph::OpDef def = *ops.find(name);
    def.infer = [infer = def.infer, asked_labels](const graph::OpArgs& args) {
      ++*asked_labels;
      return infer(args);
    };
    EXPECT_TRUE(counting.add(std::move(def)).ok());
  }
  return counting;
}

/// The mean number of inferred shapes in a mutation of a model with this many blocks, for each of its nodes.
double shapes_a_node(const Mutator& mutator, int blocks) {
  const graph::Graph model = deep_model(blocks);
  const auto asked_labels = std::make_shared<std::int64_t>(0);
  const graph::OpTable ops = counting_ops(asked_labels);
  constexpr std::uint64_t kNumSamples = 5;
  for (std::uint64_t seed = 0; seed < kNumSamples; ++seed) {
    space::RandomChooser choose{Rng(seed)};
    EXPECT_TRUE(mutator.apply(model, ops, {}, choose).ok());
  }
  return static_cast<double>(*asked_labels) / static_cast<double>(kNumSamples * model.size());
}

TEST(LargeModels, ScaleLinearlyInNodes) {
  const std::pair<const char*, nlohmann::json> mutators[] = {
      {"add_skip", nullptr},
      {"deepen", nullptr},
      {"duplicate", {{"match", "conv2d & stride == 1 >> batch_norm"}}},
      {"input", {{"mode", "rewire"}}},
      {"input", {{"mode", "add"}}},
      {"insert", {{"match", "relu"}, {"of", {"linear", "gelu", "batch_norm", "conv3x3"}}}},
      {"operator", {{"match", ""}, {"to", nlohmann::json::array()}}},
      {"remove", nullptr},
      {"replace", {{"match", "batch_norm >> relu"}, {"by", {"gelu", "layer_norm(axes=3) >> silu"}}}},
      {"swap_op", nullptr}};
  for (const auto& [name, options] : mutators) {
    const auto mutator = testing::mutator(name, options);
    const double small = shapes_a_node(*mutator, 15), large = shapes_a_node(*mutator, 150);
    EXPECT_GT(small, 0) << name;
    EXPECT_LE(large, 1.5 * small + 4) << name << " " << options << ": work grows faster than the model";
  }
}

}  // namespace
}  // namespace lanista::mutate
