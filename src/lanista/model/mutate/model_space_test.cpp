#include "lanista/model/mutate/model_space.h"

#include "support/model/mutate/test_models.h"

namespace lanista::mutate {
namespace {

using testing::base_model;
using testing::model;
using testing::mutator;

Result<ModelSpace> mlp_space(Limits limits, std::vector<std::shared_ptr<const Mutator>> mutators) {
  return ModelSpace::make(graph::builtin_ops(), {{"small-mlp", base_model("small-mlp")}}, std::move(mutators), {},
                          limits);
}

template <class T>
void expect_error(const Result<T>& result, Code code, const std::string& part) {
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, code);
  EXPECT_NE(result.error().text().find(part), std::string::npos) << result.error().text();
}

TEST(ModelSpace, ChecksItsBases) {
  expect_error(ModelSpace::make(graph::builtin_ops(), {}, {}, {}, {}), Code::kInvalidArgument, "at least one base");
  const auto broken = graph::parse("%0 = input(shape=[4])\n%1 = output(%0)\n%2 = relu(%0)\n");
  ASSERT_TRUE(broken.ok());
  expect_error(ModelSpace::make(graph::builtin_ops(), {{"mine", *broken}}, {}, {}, {}), Code::kInvalidArgument,
               "mine: ");
  expect_error(mlp_space({100, {}}, {}), Code::kInvalidArgument,
               "small-mlp: the model has 4810 trained parameters, the limit is 100 (space.limits.params)");
}

TEST(ModelSpace, ReportsLimitsAsNotApplicable) {
  const auto space = mlp_space({5000, {}}, {mutator("widen")});
  ASSERT_TRUE(space.ok()) << space.error().text();

  testing::ScriptedChooser wider({0, 0, 1});
  expect_error(space->mutate(space->base(0), wider), Code::kNotApplicable,
               "9610 trained parameters, the limit is 5000");
  testing::ScriptedChooser narrower({0, 0, 0});
  EXPECT_TRUE(space->mutate(space->base(0), narrower).ok());

  const auto slow = mlp_space({{}, 12000}, {mutator("widen")});
  ASSERT_TRUE(slow.ok()) << slow.error().text();
  testing::ScriptedChooser again({0, 0, 1});
  expect_error(slow->mutate(slow->base(0), again), Code::kNotApplicable, "FLOPs per sample, the limit is 12000");
}

TEST(ModelSpace, ResamplesUntilMutationApplies) {
  const auto space = mlp_space({5000, {}}, {mutator("widen")});
  ASSERT_TRUE(space.ok());

  int narrowed = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto child = space->mutate(space->base(0), 2, Rng(seed));
    ASSERT_TRUE(child.ok()) << child.error().text();
    EXPECT_EQ(child->steps.size(), 2U);
    EXPECT_TRUE(space->check_limits(child->graph).ok());
    narrowed += child->graph.node(graph::NodeId{2}).attrs.find("out")->index() == 1 ? 1 : 0;
  }
  EXPECT_EQ(narrowed, 20);
}

TEST(ModelSpace, IsDeterministicForEqualStreams) {
  std::vector<std::shared_ptr<const Mutator>> all = {mutator("widen"), mutator("swap_op"), mutator("deepen")};
  const auto space = mlp_space({}, all);
  ASSERT_TRUE(space.ok());

  const auto a = space->mutate(space->base(0), 5, Rng(11));
  const auto b = space->mutate(space->base(0), 5, Rng(11));
  const auto c = space->mutate(space->base(0), 5, Rng(12));

  ASSERT_TRUE(a.ok() && b.ok() && c.ok());
  EXPECT_EQ(a->graph, b->graph);
  EXPECT_EQ(a->steps, b->steps);
  EXPECT_NE(a->graph, c->graph);
}

TEST(ModelSpace, ReportsLastReasonOnFailure) {
  const auto none = mlp_space({}, {});
  ASSERT_TRUE(none.ok());
  expect_error(none->mutate(none->base(0), 1, Rng(1)), Code::kNotApplicable, "no mutators");
  EXPECT_TRUE(none->mutate(none->base(0), 0, Rng(1)).ok());

  const auto stuck = mlp_space({}, {mutator("add_skip", {{"max", 0}})});
  ASSERT_TRUE(stuck.ok());
  expect_error(stuck->mutate(stuck->base(0), 3, Rng(1)), Code::kNotApplicable,
               "mutation 1 of 3: none of 32 attempts applies; the last: add_skip: the model already has 0 skips");
}

TEST(ModelSpace, LeavesFrozenNodesAsTheyAre) {
  auto space = mlp_space({}, {mutator("widen"), mutator("deepen"), mutator("swap_op")});
  ASSERT_TRUE(space.ok()) << space.error().text();
  const graph::Graph& base = space->bases()[0].graph;
  const graph::NodeId hidden = base.nodes_of("linear").front();
  std::set<graph::NodeId> frozen;
  for (const graph::NodeId id : base.ids()) {
    if (id <= hidden) frozen.insert(id);
  }
  ASSERT_TRUE(space->freeze(frozen));

  std::set<Digest> seen;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const auto child = space->mutate(space->base(0), 2, Rng(seed));
    ASSERT_TRUE(child.ok()) << child.error().text();
    for (const graph::NodeId id : frozen) EXPECT_EQ(child->graph.node(id), base.node(id));
    seen.insert(child->hash);
  }
  EXPECT_GT(seen.size(), 3U);

  auto narrow = mlp_space({}, {mutator("widen")});  // of the hidden layer: there is no other
  ASSERT_TRUE(narrow->freeze(frozen));
  expect_error(narrow->mutate(narrow->base(0), 1, Rng(1)), Code::kNotApplicable, "is frozen");
}

TEST(ModelSpace, MergesConsecutiveIdentities) {
  const auto images = model(
      "%0 = input(shape=[3,8,8])\n%1 = conv2d(%0, out=4, kernel=[3,3], padding=[1,1])\n%2 = conv2d(%1, out=4, "
      "kernel=[3,3], padding=[1,1])\n%3 = conv2d(%2, out=4, kernel=[3,3], padding=[1,1])\n%4 = global_avg_pool(%3)\n%5 "
      "= "
      "linear(%4, out=3)\n%6 = output(%5)\n");
  const auto space = ModelSpace::make(graph::builtin_ops(), {{"images", images}}, {mutator("swap_op")}, {}, {});
  ASSERT_TRUE(space.ok()) << space.error().text();

  int identities = 0, folded = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    auto child = space->mutate(space->base(0), 8, Rng(seed));
    ASSERT_TRUE(child.ok()) << child.error().text();
    for (const auto& node : child->graph.nodes()) {
      if (node->op != "identity") continue;
      ++identities;
      if (!node->label.empty()) continue;
      EXPECT_NE(child->graph.node(node->inputs.front().node).op, "identity");
    }
    // What was folded is an edit like any other, and the trace alone gives the model, too.
    EXPECT_EQ(*space->rebuild(0, child->edits), child->graph);
    const auto again = space->replay(space->base(0), child->steps);
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(again->graph, child->graph);
    for (const graph::Edit& edit : child->edits) folded += std::holds_alternative<graph::RemoveNode>(edit) ? 1 : 0;
  }
  EXPECT_GT(identities, 10);
  EXPECT_GT(folded, 10);
}

TEST(ModelSpace, RebuildRefusesEditsThatDoNotFit) {
  const auto space = mlp_space({}, {mutator("widen")});
  ASSERT_TRUE(space.ok());
  const graph::Edit unknown = graph::SetAttr{graph::NodeId{77}, "out", std::int64_t{5}};
  const graph::Edit output = graph::RemoveNode{graph::NodeId{4}};

  expect_error(space->rebuild(0, {&unknown, 1}), Code::kDataLoss, "%77");
  expect_error(space->rebuild(0, {&output, 1}), Code::kDataLoss, "the stored edits do not fit");
  expect_error(space->rebuild(3, {}), Code::kDataLoss, "base model 3");
  EXPECT_EQ(*space->rebuild(0, {}), space->base(0).graph);
}

TEST(ModelSpace, HashesEqualModelsEqually) {
  const auto space = mlp_space({}, {mutator("widen")});
  ASSERT_TRUE(space.ok());
  testing::ScriptedChooser up({0, 0, 1});
  const auto wide = space->mutate(space->base(0), up);
  ASSERT_TRUE(wide.ok());
  testing::ScriptedChooser down({0, 0, 0});

  const auto back = space->mutate(*wide, down);

  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->hash, space->base(0).hash);
  EXPECT_NE(wide->hash, back->hash);
  EXPECT_EQ(back->edits.size(), 2U);
}

TEST(BuiltinBase, FitsTheData) {
  const auto flat = builtin_base("small-mlp", graph::Shape{{20}}, 3);
  const auto batched = builtin_base("small-cnn", graph::Shape{{graph::kBatch, 3, 32, 32}}, 100);

  ASSERT_TRUE(flat.ok() && batched.ok());
  EXPECT_TRUE(flat->graph.nodes_of("flatten").empty());
  for (const auto* base : {&*flat, &*batched}) {
    EXPECT_TRUE(graph::verify(base->graph, graph::builtin_ops()).ok()) << base->name;
  }
  EXPECT_EQ(testing::output_type(batched->graph).shape.text(), "[N, 100]");
}

TEST(BuiltinBase, StartsWithEmbeddingForTokens) {
  for (const char* name : {"small-mlp", "small-transformer"}) {
    const auto base = builtin_base(name, graph::Shape{{16}}, 5, 100);

    ASSERT_TRUE(base.ok()) << base.error().text();
    EXPECT_TRUE(graph::verify(base->graph, graph::builtin_ops()).ok()) << name;
    EXPECT_EQ(base->graph.nodes_of("embedding").size(), 1U);
    EXPECT_EQ(testing::output_type(base->graph).shape.text(), "[N, 5]");
  }
  EXPECT_EQ(builtin_base("small-transformer", graph::Shape{{16}}, 5, 100)->graph.nodes_of("attention").size(), 2U);
}

TEST(BuiltinBase, PredictsAtEveryPosition) {
  const auto base = builtin_base("small-transformer", graph::Shape{{16}}, 100, 100, 16);
  ASSERT_TRUE(base.ok()) << base.error().text();
  EXPECT_EQ(testing::output_type(base->graph).shape.text(), "[N, 16, 100]");
  const std::string text = graph::to_text(base->graph);
  EXPECT_NE(text.find("causal=true"), std::string::npos) << text;
  EXPECT_EQ(text.find("mean("), std::string::npos) << text;
  for (const char* name : {"small-mlp", "small-cnn"}) {
    expect_error(builtin_base(name, graph::Shape{{16}}, 100, 100, 16), Code::kInvalidArgument,
                 "one at each of 16 positions");
  }
}

TEST(BuiltinBase, EmbedsTheCategoriesOfATable) {
  // Numbers, a category of 3 (left as it is), one of 10, numbers, one of 500 at the end.
  BaseRequirements table{graph::Shape{{520}}, 2, 0, 0, {{2, 3}, {5, 10}, {20, 500}}};
  const auto base = builtin_base("embedding-mlp", table);
  ASSERT_TRUE(base.ok()) << base.error().text();
  EXPECT_TRUE(graph::verify(base->graph, graph::builtin_ops()).ok());
  EXPECT_EQ(graph::to_text(base->graph),
            "%0 = input(shape=[520])\n"
            "%1 = slice(%0, axis=1, end=5, start=0)\n"
            "%2 = slice(%0, axis=1, end=15, start=5)\n"
            "%3 = linear(%2, bias=false, out=4) \"embedding5\"\n"
            "%4 = slice(%0, axis=1, end=20, start=15)\n"
            "%5 = slice(%0, axis=1, end=520, start=20)\n"
            "%6 = linear(%5, bias=false, out=16) \"embedding20\"\n"
            "%7 = concat(%1, %3, %4, %6, axis=1)\n"
            "%8 = linear(%7, out=64) \"hidden\"\n"
            "%9 = relu(%8)\n"
            "%10 = linear(%9, out=2)\n"
            "%11 = output(%10)\n");
  table.categories = {{0, 520}};
  const auto alone = builtin_base("embedding-mlp", table);
  ASSERT_TRUE(alone.ok()) << alone.error().text();
  EXPECT_TRUE(graph::verify(alone->graph, graph::builtin_ops()).ok());
  EXPECT_TRUE(alone->graph.nodes_of("concat").empty());
  table.categories = {{0, 10}};
  const auto first = builtin_base("embedding-mlp", table);
  ASSERT_TRUE(first.ok()) << first.error().text();
  EXPECT_EQ(first->graph.nodes_of("slice").size(), 2U) << "the category, and all that stands behind it";
  EXPECT_EQ(first->graph.nodes_of("concat").size(), 1U);
  table.categories = {{2, 3}};
  expect_error(builtin_base("embedding-mlp", table), Code::kInvalidArgument, "a category of 4 values or more");
}

TEST(BuiltinBase, RejectsUnsuitableData) {
  expect_error(builtin_base("small-transformer", graph::Shape{{20}}, 3), Code::kInvalidArgument,
               "needs tokens, but the data are real numbers [20]");
  expect_error(builtin_base("small-mlp", graph::Shape{{4, 5}}, 3, 9), Code::kInvalidArgument,
               "needs tokens [T], but the data are [4, 5]");
  expect_error(builtin_base("small-mpl", graph::Shape{{20}}, 3), Code::kNotFound, "did you mean 'small-mlp'?");
  expect_error(builtin_base("small-cnn", graph::Shape{{20}}, 3), Code::kInvalidArgument,
               "needs images [channels, height, width]");
  expect_error(builtin_base("small-cnn", graph::Shape{{8, 8, 3}}, 3), Code::kInvalidArgument,
               "the data are [8, 8, 3]; if the channels are last, write x.transpose(0, 3, 1, 2)");
  expect_error(builtin_base("small-cnn", graph::Shape{{1, 3, 9}}, 3), Code::kInvalidArgument, "at least 4x4");
  expect_error(builtin_base("small-mlp", graph::Shape{}, 3), Code::kInvalidArgument, "positive dimensions");
  expect_error(builtin_base("small-mlp", graph::Shape{{20}}, 0), Code::kInvalidArgument, "at least one output, not 0");
}

Result<std::unique_ptr<Mutator>> make(const std::string& name, const nlohmann::json& given) {
  for (const auto& plugin : builtin_mutators()) {
    if (plugin.name != name) continue;
    LANISTA_ASSIGN(auto options, resolve_options(given, plugin.options));
    return plugin.make(options);
  }
  return Error{Code::kNotFound, "no mutator " + name, ""};
}

TEST(MutatorPlugin, RefusesBadOptions) {
  expect_error(make("swap_op", {{"to", {"conv3x4"}}}), Code::kInvalidArgument, "did you mean 'conv3x3'?");
  expect_error(make("swap_op", {{"were", "relu"}}), Code::kInvalidArgument, "did you mean 'where'?");
  expect_error(make("swap_op", {{"where", "conv2 & label(a*)"}}), Code::kInvalidArgument,
               "where: in the pattern \"conv2 & label(a*)\", column 1: unknown term 'conv2'; did you mean 'conv2d'?");
  expect_error(make("widen", {{"by", {0.5, 0}}}), Code::kInvalidArgument, "0.0 is out of bounds");
  expect_error(make("widen", {{"by", nlohmann::json::array()}}), Code::kInvalidArgument, "at least one factor");
  expect_error(make("deepen", {{"op", "liner"}}), Code::kInvalidArgument, "did you mean 'linear'?");
  expect_error(make("remove", {{"max", 2}}), Code::kInvalidArgument, "no options are known here");
  expect_error(make("add_skip", {{"max", -1}}), Code::kInvalidArgument, "-1 is out of bounds");
}

}  // namespace
}  // namespace lanista::mutate
