// Golden texts of skips and their shape repairs.
#include "lanista/model/mutate/shape_repair.h"
#include "support/model/mutate/test_models.h"

namespace lanista::mutate {
namespace {

using testing::base_model;
using testing::kPad;
using testing::kReject;
using testing::model;
using testing::mutated;
using testing::mutator;
using testing::residual_model;
using testing::ScriptedChooser;

const RepairPolicy kInterpolate{RepairPolicy::Channels::kProject, RepairPolicy::Spatial::kInterpolate};

TEST(AddSkip, ProjectsFeatures) {
  ScriptedChooser choose({2, 2});
  const auto edited = testing::apply(*mutator("add_skip"), base_model("small-mlp"), choose);

  ASSERT_TRUE(edited.ok()) << edited.error().text();
  EXPECT_EQ(choose.asked_labels(), "to/3 from/3");
  EXPECT_EQ(graph::to_text(edited->graph),
            "%0 = input(shape=[1,8,8])\n"
            "%1 = flatten(%0)\n"
            "%2 = linear(%1, out=64) \"hidden\"\n"
            "%3 = relu(%2)\n"
            "%4 = linear(%3, out=10)\n"
            "%6 = linear(%3, out=10) \"repair\"\n"
            "%7 = add(%4, %6) \"skip\"\n"
            "%5 = output(%7)\n");
}

TEST(AddSkip, PoolsAndProjectsImages) {
  const auto base = model(
      "%0 = input(shape=[3,8,8])\n%1 = conv2d(%0, out=6, padding=[1], stride=[2])\n%2 = global_avg_pool(%1)\n"
      "%3 = output(%2)\n");

  EXPECT_EQ(mutated(*mutator("add_skip"), base, {0, 0}),
            "%0 = input(shape=[3,8,8])\n"
            "%1 = conv2d(%0, out=6, padding=[1], stride=[2])\n"
            "%4 = adaptive_avg_pool2d(%0, out=[4,4]) \"repair\"\n"
            "%5 = conv2d(%4, kernel=[1], out=6) \"repair\"\n"
            "%6 = add(%1, %5) \"skip\"\n"
            "%2 = global_avg_pool(%6)\n"
            "%3 = output(%2)\n");
  EXPECT_EQ(mutated(*mutator("add_skip"), base, {0, 0}, kPad),
            "%0 = input(shape=[3,8,8])\n"
            "%1 = conv2d(%0, out=6, padding=[1], stride=[2])\n"
            "%4 = adaptive_avg_pool2d(%0, out=[4,4]) \"repair\"\n"
            "%5 = zero(%4) \"repair\"\n"
            "%6 = concat(%4, %5) \"repair\"\n"
            "%7 = add(%1, %6) \"skip\"\n"
            "%2 = global_avg_pool(%7)\n"
            "%3 = output(%2)\n");
  EXPECT_EQ(mutated(*mutator("add_skip"), base, {0, 0}, kInterpolate),
            "%0 = input(shape=[3,8,8])\n"
            "%1 = conv2d(%0, out=6, padding=[1], stride=[2])\n"
            "%4 = resize(%0, mode=\"bilinear\", out=[4,4]) \"repair\"\n"
            "%5 = conv2d(%4, kernel=[1], out=6) \"repair\"\n"
            "%6 = add(%1, %5) \"skip\"\n"
            "%2 = global_avg_pool(%6)\n"
            "%3 = output(%2)\n");
  EXPECT_EQ(mutated(*mutator("add_skip"), base, {0, 0}, kReject),
            "not_applicable: add_skip: no site among 2: "
            "%1 conv2d: [N, 3, 8, 8] does not fit [N, 6, 4, 4], and repair.spatial is reject; "
            "%2 global_avg_pool: [N, 6, 4, 4] does not fit [N, 6], and no repair leads from one to the other");
}

TEST(AddSkip, RespectsMaximumAndAddsEachSkipOnce) {
  const auto once = mutator("add_skip", {{"max", 1}});
  const auto base = base_model("small-mlp");
  const std::string skipped = mutated(*once, base, {2, 2});

  EXPECT_EQ(mutated(*once, model(skipped), {0, 0}),
            "not_applicable: add_skip: the model already has 1 skips, max is 1");

  ScriptedChooser choose({2, 0});
  ASSERT_TRUE(testing::apply(*mutator("add_skip"), model(skipped), choose).ok());
  EXPECT_EQ(choose.asked_labels(), "to/4 from/2") << "of %1, %2 and %3, the last is already added to %4";
}

TEST(RepairJoins, FitsEveryInputOfAConcat) {
  const auto ops = graph::builtin_ops();
  const auto base = model(
      "%0 = input(shape=[3,8,8])\n%1 = conv2d(%0, out=4, padding=[1])\n%2 = max_pool2d(%1)\n%3 = avg_pool2d(%1)\n"
      "%4 = concat(%2, %3)\n%5 = global_avg_pool(%4)\n%6 = output(%5)\n");
  graph::Editor editor(base, ops);
  editor.bypass(graph::NodeId{2});

  const auto repaired = repair_and_type(editor, ops, {});

  ASSERT_TRUE(repaired.ok()) << repaired.error().text();
  const auto edited = std::move(editor).commit();
  ASSERT_TRUE(edited.ok()) << edited.error().text();
  EXPECT_EQ(graph::to_text(edited->graph),
            "%0 = input(shape=[3,8,8])\n"
            "%1 = conv2d(%0, out=4, padding=[1])\n"
            "%3 = avg_pool2d(%1)\n"
            "%7 = adaptive_avg_pool2d(%1, out=[4,4]) \"repair\"\n"
            "%4 = concat(%7, %3)\n"
            "%5 = global_avg_pool(%4)\n"
            "%6 = output(%5)\n");
}

TEST(RepairJoins, LeavesAFittingGraphAlone) {
  const auto ops = graph::builtin_ops();
  const auto base = residual_model();
  graph::Editor editor(base, ops);

  ASSERT_TRUE(repair_and_type(editor, ops, {}).ok());

  EXPECT_EQ(editor.graph(), base);
}

}  // namespace
}  // namespace lanista::mutate
