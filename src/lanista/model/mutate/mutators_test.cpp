// Golden texts: a model in, a model out.
#include "support/model/mutate/test_models.h"

namespace lanista::mutate {
namespace {

using testing::base_model;
using testing::kPad;
using testing::kReject;
using testing::model;
using testing::mutated;
using testing::mutator;
using testing::ScriptedChooser;

TEST(BuiltinBase, MatchesGoldenText) {
  EXPECT_EQ(graph::to_text(base_model("small-mlp")),
            "%0 = input(shape=[1,8,8])\n"
            "%1 = flatten(%0)\n"
            "%2 = linear(%1, out=64) \"hidden\"\n"
            "%3 = relu(%2)\n"
            "%4 = linear(%3, out=10)\n"
            "%5 = output(%4)\n");
  EXPECT_EQ(graph::to_text(base_model("small-cnn")),
            "%0 = input(shape=[1,8,8])\n"
            "%1 = conv2d(%0, out=16, padding=[1]) \"stage1\"\n"
            "%2 = relu(%1)\n"
            "%3 = max_pool2d(%2)\n"
            "%4 = conv2d(%3, out=32, padding=[1]) \"stage2\"\n"
            "%5 = relu(%4)\n"
            "%6 = max_pool2d(%5)\n"
            "%7 = flatten(%6)\n"
            "%8 = linear(%7, out=10)\n"
            "%9 = output(%8)\n");
}

TEST(SwapOp, PutsInAnotherActivation) {
  EXPECT_EQ(mutated(*mutator("swap_op", {{"to", {"gelu"}}}), base_model("small-mlp"), {0, 0}),
            "%0 = input(shape=[1,8,8])\n"
            "%1 = flatten(%0)\n"
            "%2 = linear(%1, out=64) \"hidden\"\n"
            "%3 = gelu(%2)\n"
            "%4 = linear(%3, out=10)\n"
            "%5 = output(%4)\n");
}

TEST(SwapOp, KeepsWidthStrideGroupsAndBias) {
  const auto strided = model(
      "%0 = input(shape=[4,8,8])\n"
      "%1 = conv2d(%0, bias=false, groups=2, out=8, padding=[1], stride=[2]) \"a\"\n"
      "%2 = conv2d(%1, out=8, padding=[1]) \"b\"\n"
      "%3 = global_avg_pool(%2)\n"
      "%4 = output(%3)\n");
  const auto line = [&](const char* where, const char* to, const std::string& id) {
    const std::string text = mutated(*mutator("swap_op", {{"where", where}, {"to", {to}}}), strided, {0, 0});
    const auto begin = text.find(id + " = ");
    return begin == std::string::npos ? text : text.substr(begin, text.find('\n', begin) - begin);
  };

  EXPECT_EQ(line("label(a)", "conv1x1", "%1"),
            "%1 = conv2d(%0, bias=false, groups=2, kernel=[1], out=8, stride=[2]) \"a\"");
  EXPECT_EQ(line("label(a)", "conv5x5", "%1"),
            "%1 = conv2d(%0, bias=false, groups=2, kernel=[5], out=8, padding=[2], stride=[2]) \"a\"");
  EXPECT_EQ(line("label(a)", "sep3x3", "%1"),
            "%1 = separable_conv2d(%0, bias=false, out=8, padding=[1], stride=[2]) \"a\"");
  EXPECT_EQ(line("label(a)", "dw3x3", "%1"),
            "%1 = depthwise_conv2d(%0, bias=false, multiplier=2, padding=[1], stride=[2]) \"a\"");
  EXPECT_EQ(line("label(b)", "sep5x5", "%2"), "%2 = separable_conv2d(%1, kernel=[5], out=8, padding=[2]) \"b\"");
  EXPECT_EQ(line("label(b)", "identity", "%2"), "%2 = identity(%1) \"b\"");
  EXPECT_EQ(line("label(a)", "identity", "%1"),
            "not_applicable: swap_op: no site among 1: %1 conv2d: no other operator of `to` keeps its shape");
}

TEST(SwapOp, OffersEveryOtherOperatorOfTheFamilyThatFits) {
  const auto questions = [](const nlohmann::json& options, const graph::Graph& base) {
    ScriptedChooser choose({0, 0});
    const auto edited = testing::apply(*mutator("swap_op", options), base, choose);
    return edited ? choose.asked_labels() : edited.error().message;
  };

  EXPECT_EQ(questions({{"where", "relu"}}, base_model("small-mlp")), "site/1 to/5");
  EXPECT_EQ(questions({{"where", "conv2d & label(stage1)"}}, base_model("small-cnn")), "site/1 to/5");
  EXPECT_EQ(questions({{"where", "max_pool2d"}}, base_model("small-cnn")), "site/2 to/1");
  EXPECT_EQ(questions({{"where", "conv3x3"}}, base_model("small-cnn")), "site/2 to/5");
  EXPECT_EQ(questions({}, base_model("small-cnn")), "site/6 to/5");
  EXPECT_EQ(questions({{"where", "conv5x5"}}, base_model("small-cnn")),
            "swap_op: the model has no node that matches `where` and has an operator to swap");
}

TEST(SwapOp, AnIdentityOnImagesCanBecomeAConvolutionAgain) {
  const auto base = model("%0 = input(shape=[4,8,8])\n%1 = identity(%0)\n%2 = global_avg_pool(%1)\n%3 = output(%2)\n");

  EXPECT_EQ(mutated(*mutator("swap_op", {{"to", {"conv3x3"}}}), base, {0, 0}),
            "%0 = input(shape=[4,8,8])\n%1 = conv2d(%0, out=4, padding=[1])\n%2 = global_avg_pool(%1)\n%3 = "
            "output(%2)\n");
}

TEST(SwapOp, EqualLabelsChooseTogether) {
  const auto base = model(
      "%0 = input(shape=[8])\n%1 = relu(%0) \"act\"\n%2 = linear(%1, out=3)\n%3 = relu(%2) \"act\"\n%4 = output(%3)\n");

  EXPECT_EQ(mutated(*mutator("swap_op", {{"to", {"tanh"}}}), base, {0, 0}),
            "%0 = input(shape=[8])\n%1 = tanh(%0) \"act\"\n%2 = linear(%1, out=3)\n%3 = tanh(%2) \"act\"\n%4 = "
            "output(%3)\n");
}

TEST(Widen, WidensTheHiddenLayerOnly) {
  ScriptedChooser choose({0, 1});
  const auto edited = testing::apply(*mutator("widen"), base_model("small-mlp"), choose);

  ASSERT_TRUE(edited.ok()) << edited.error().text();
  EXPECT_EQ(choose.asked_labels(), "site/1 by/2");
  EXPECT_EQ(graph::to_text(edited->graph),
            "%0 = input(shape=[1,8,8])\n"
            "%1 = flatten(%0)\n"
            "%2 = linear(%1, out=128) \"hidden\"\n"
            "%3 = relu(%2)\n"
            "%4 = linear(%3, out=10)\n"
            "%5 = output(%4)\n");
  ASSERT_EQ(edited->edits.size(), 1U);
  EXPECT_EQ(edited->edits[0], graph::Edit(graph::SetAttr{graph::NodeId{2}, "out", std::int64_t{128}}));
}

TEST(Widen, NeverGoesBelowOneAndLeavesOutFactorsThatChangeNothing) {
  const auto thin = model("%0 = input(shape=[8])\n%1 = linear(%0, out=1)\n%2 = linear(%1, out=3)\n%3 = output(%2)\n");
  ScriptedChooser choose({0, 0});

  ASSERT_TRUE(testing::apply(*mutator("widen"), thin, choose).ok());

  EXPECT_EQ(choose.asked_labels(), "site/1 by/1") << "0.5 rounds up to the old width 1";
}

TEST(Widen, ProjectsTheOtherSideOfAJoin) {
  const auto residual = model(
      "%0 = input(shape=[8])\n"
      "%1 = linear(%0, out=6)\n"
      "%2 = linear(%1, out=6)\n"
      "%3 = add(%2, %1)\n"
      "%4 = linear(%3, out=2)\n"
      "%5 = output(%4)\n");
  const auto widen = mutator("widen", {{"by", {2}}});

  const std::string once = mutated(*widen, residual, {1, 0});

  EXPECT_EQ(once,
            "%0 = input(shape=[8])\n"
            "%1 = linear(%0, out=6)\n"
            "%2 = linear(%1, out=12)\n"
            "%6 = linear(%1, out=12) \"repair\"\n"
            "%3 = add(%2, %6)\n"
            "%4 = linear(%3, out=2)\n"
            "%5 = output(%4)\n");
  EXPECT_EQ(mutated(*widen, model(once), {1, 0}),
            "%0 = input(shape=[8])\n"
            "%1 = linear(%0, out=6)\n"
            "%2 = linear(%1, out=24)\n"
            "%6 = linear(%1, out=24) \"repair\"\n"
            "%3 = add(%2, %6)\n"
            "%4 = linear(%3, out=2)\n"
            "%5 = output(%4)\n")
      << "a projection follows, there is no second one on top";
  EXPECT_EQ(mutated(*widen, residual, {1, 0}, kPad),
            "%0 = input(shape=[8])\n"
            "%1 = linear(%0, out=6)\n"
            "%2 = linear(%1, out=12)\n"
            "%6 = zero(%1) \"repair\"\n"
            "%7 = concat(%1, %6) \"repair\"\n"
            "%3 = add(%2, %7)\n"
            "%4 = linear(%3, out=2)\n"
            "%5 = output(%4)\n");
  EXPECT_EQ(mutated(*widen, residual, {1, 0}, kReject),
            "not_applicable: widen: no site among 3: "
            "%1 linear: %3 add, input 1: [N, 12] does not fit [N, 6], and repair.channels is reject; "
            "%2 linear: %3 add, input 1: [N, 6] does not fit [N, 12], and repair.channels is reject; "
            "%4 linear: its width is the width of the output");
}

TEST(Widen, RespectsGroups) {
  // 12 channels in 4 groups: half of them (6) no longer divide.
  const auto grouped = model(
      "%0 = input(shape=[3,8,8])\n"
      "%1 = conv2d(%0, out=12, padding=[1])\n"
      "%2 = group_norm(%1, groups=4)\n"
      "%3 = global_avg_pool(%2)\n"
      "%4 = linear(%3, out=2)\n"
      "%5 = output(%4)\n");
  ScriptedChooser choose({0, 0});

  const auto edited = testing::apply(*mutator("widen"), grouped, choose);

  ASSERT_TRUE(edited.ok()) << edited.error().text();
  EXPECT_EQ(choose.asked_labels(), "site/1 by/1");
  EXPECT_NE(graph::to_text(edited->graph).find("out=24"), std::string::npos);
}

TEST(Deepen, InsertsALayerAndItsActivation) {
  EXPECT_EQ(mutated(*mutator("deepen"), base_model("small-mlp"), {0, 0}),
            "%0 = input(shape=[1,8,8])\n"
            "%1 = flatten(%0)\n"
            "%2 = linear(%1, out=64) \"hidden\"\n"
            "%3 = relu(%2)\n"
            "%6 = linear(%3, out=64)\n"
            "%7 = relu(%6)\n"
            "%4 = linear(%7, out=10)\n"
            "%5 = output(%4)\n");
}

TEST(Deepen, DuplicatesALayerWithWhatFollowsIt) {
  const auto base = model(
      "%0 = input(shape=[3,8,8])\n"
      "%1 = conv2d(%0, kernel=[5], out=6, padding=[2]) \"stem\"\n"
      "%2 = batch_norm(%1)\n"
      "%3 = tanh(%2)\n"
      "%4 = global_avg_pool(%3)\n"
      "%5 = linear(%4, out=2)\n"
      "%6 = output(%5)\n");

  EXPECT_EQ(mutated(*mutator("deepen"), base, {0, 1}),
            "%0 = input(shape=[3,8,8])\n"
            "%1 = conv2d(%0, kernel=[5], out=6, padding=[2]) \"stem\"\n"
            "%2 = batch_norm(%1)\n"
            "%3 = tanh(%2)\n"
            "%7 = conv2d(%3, kernel=[5], out=6, padding=[2]) \"stem\"\n"
            "%8 = batch_norm(%7)\n"
            "%9 = tanh(%8)\n"
            "%4 = global_avg_pool(%9)\n"
            "%5 = linear(%4, out=2)\n"
            "%6 = output(%5)\n");
  EXPECT_EQ(mutated(*mutator("deepen", {{"op", "sep3x3"}}), base, {0, 0}),
            "%0 = input(shape=[3,8,8])\n"
            "%1 = conv2d(%0, kernel=[5], out=6, padding=[2]) \"stem\"\n"
            "%2 = batch_norm(%1)\n"
            "%3 = tanh(%2)\n"
            "%7 = separable_conv2d(%3, out=6, padding=[1])\n"
            "%8 = tanh(%7)\n"
            "%4 = global_avg_pool(%8)\n"
            "%5 = linear(%4, out=2)\n"
            "%6 = output(%5)\n");
}

TEST(Deepen, ReportsWhatDoesNotFit) {
  const auto strided = model(
      "%0 = input(shape=[3,8,8])\n%1 = conv2d(%0, kernel=[2], out=6, stride=[2])\n%2 = flatten(%1)\n"
      "%3 = linear(%2, out=2)\n%4 = output(%3)\n");

  EXPECT_EQ(mutated(*mutator("deepen", {{"op", "linear"}}), strided, {0, 0}),
            "not_applicable: deepen: no site among 2: "
            "%1 conv2d: a copy would change the shape [N, 6, 4, 4], and linear does not fit it; "
            "%3 linear: gives the output");
}

TEST(Remove, RemovesShapePreservingLayers) {
  EXPECT_EQ(mutated(*mutator("remove"), base_model("small-mlp"), {0}),
            "%0 = input(shape=[1,8,8])\n"
            "%1 = flatten(%0)\n"
            "%3 = relu(%1)\n"
            "%4 = linear(%3, out=10)\n"
            "%5 = output(%4)\n")
      << "64 pixels, 64 units: the layer may go";
  EXPECT_EQ(mutated(*mutator("remove"), base_model("small-cnn"), {1}),
            "%0 = input(shape=[1,8,8])\n"
            "%1 = conv2d(%0, out=16, padding=[1]) \"stage1\"\n"
            "%2 = relu(%1)\n"
            "%4 = conv2d(%2, out=32, padding=[1]) \"stage2\"\n"
            "%5 = relu(%4)\n"
            "%6 = max_pool2d(%5)\n"
            "%7 = flatten(%6)\n"
            "%8 = linear(%7, out=10)\n"
            "%9 = output(%8)\n")
      << "a pool may go as long as the rest takes larger images";
}

TEST(Remove, UndoesASkipWithItsRepairs) {
  const auto base = base_model("small-mlp");
  const std::string skipped = mutated(*mutator("add_skip"), base, {2, 1});
  ASSERT_NE(skipped.find("\"skip\""), std::string::npos) << skipped;
  const auto remove = mutator("remove");

  std::string found;
  for (std::int64_t site = 0; site < 3 && found.empty(); ++site) {
    const std::string text = mutated(*remove, model(skipped), {site});
    if (text.find("\"skip\"") == std::string::npos) found = text;
  }

  const auto parsed = graph::parse(found);
  ASSERT_TRUE(parsed.ok()) << parsed.error().text();
  EXPECT_EQ(graph::canonical_hash(*parsed, graph::builtin_ops()), graph::canonical_hash(base, graph::builtin_ops()));
}

TEST(Remove, ReportsRequiredNodes) {
  const auto bare = model(
      "%0 = input(shape=[1,4,4])\n%1 = max_pool2d(%0)\n%2 = reshape(%1, shape=[4])\n%3 = linear(%2, out=4)\n"
      "%4 = linear(%3, out=2)\n%5 = output(%4)\n");

  EXPECT_EQ(mutated(*mutator("remove"), bare, {0}),
            "%0 = input(shape=[1,4,4])\n%1 = max_pool2d(%0)\n%2 = reshape(%1, shape=[4])\n"
            "%4 = linear(%2, out=2)\n%5 = output(%4)\n");
  const auto stuck = model(
      "%0 = input(shape=[1,4,4])\n%1 = max_pool2d(%0)\n%2 = reshape(%1, shape=[4])\n%3 = linear(%2, out=4)\n"
      "%4 = output(%3)\n");
  const std::string message = mutated(*mutator("remove"), stuck, {0});
  EXPECT_NE(message.find("%1 max_pool2d: turns [N, 1, 4, 4] into [N, 1, 2, 2]; without it: %2 reshape: "),
            std::string::npos)
      << message;
  EXPECT_NE(message.find("%3 linear: is the only layer"), std::string::npos) << message;
}

}  // namespace
}  // namespace lanista::mutate
