#include "lanista/model/graph/model_cut.h"

#include <gtest/gtest.h>

#include "lanista/model/graph/text.h"

namespace lanista::graph {
namespace {

const OpTable& ops() {
  static const OpTable table = builtin_ops();
  return table;
}

Result<Cut> cut(const std::string& text, const std::set<NodeId>& frozen) {
  return cut_behind_frozen(*parse(text), frozen, ops());
}

std::set<NodeId> ids(std::initializer_list<std::uint32_t> numbers) {
  std::set<NodeId> set;
  for (const std::uint32_t number : numbers) set.insert(NodeId{number});
  return set;
}

const std::string kModel =
    "%0 = input(shape=[1,8,8])\n"
    "%1 = conv2d(%0, kernel=[3], out=4)\n"
    "%2 = batch_norm(%1)\n"
    "%3 = relu(%2)\n"
    "%4 = flatten(%3)\n"
    "%5 = linear(%4, out=16)\n"
    "%6 = dropout(%5, p=0.5)\n"
    "%7 = linear(%6, out=10)\n"
    "%8 = output(%7)\n";

void expect_refused(const Result<Cut>& refused, Code code, const std::string& message) {
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, code);
  EXPECT_NE(refused.error().message.find(message), std::string::npos) << refused.error().message;
}

TEST(Cut, KeepsIdsOfHead) {
  const auto two = cut(kModel, ids({1, 2}));

  ASSERT_TRUE(two) << two.error().text();
  EXPECT_EQ(to_text(two->prefix),
            "%0 = input(shape=[1,8,8])\n"
            "%1 = conv2d(%0, kernel=[3], out=4)\n"
            "%2 = batch_norm(%1)\n"
            "%3 = relu(%2)\n"
            "%4 = flatten(%3)\n"
            "%5 = output(%4)\n");
  EXPECT_EQ(to_text(two->head),
            "%4 = input(shape=[144])\n"
            "%5 = linear(%4, out=16)\n"
            "%6 = dropout(%5, p=0.5)\n"
            "%7 = linear(%6, out=10)\n"
            "%8 = output(%7)\n");
  EXPECT_EQ(two->value.shape.text(), "[N, 144]");
  EXPECT_TRUE(verify(two->prefix, ops()));
  EXPECT_TRUE(verify(two->head, ops()));
}

TEST(Cut, StopsBeforeTrainedOrRandomNode) {
  EXPECT_EQ(cut(kModel, ids({1, 2, 5}))->value.shape.text(), "[N, 16]");     // dropout is random
  EXPECT_EQ(cut(kModel, ids({1, 2, 5, 6}))->value.shape.text(), "[N, 16]");  // frozen dropout is not
  EXPECT_EQ(cut(kModel, ids({1, 2, 5, 6}))->prefix.size(), 8U);
  EXPECT_EQ(cut(kModel, ids({1}))->prefix.size(), 3U);  // statistics are renewed
}

// Nodes without parameters are on the side that needs one value only.
TEST(Cut, PassesOneValue) {
  const std::string model =
      "%0 = input(shape=[1,8,8])\n"
      "%1 = conv2d(%0, kernel=[3], out=4)\n"
      "%2 = relu(%1)\n"
      "%3 = max_pool2d(%2, kernel=[2])\n"
      "%4 = flatten(%3)\n"
      "%5 = linear(%4, out=8)\n"
      "%6 = global_avg_pool(%2)\n"
      "%7 = concat(%5, %6)\n"
      "%8 = linear(%7, out=10)\n"
      "%9 = output(%8)\n";
  const auto two = cut(model, ids({1}));

  ASSERT_TRUE(two) << two.error().text();
  EXPECT_EQ(two->value.shape.text(), "[N, 4, 6, 6]");
  EXPECT_EQ(to_text(two->head).substr(0, 62),
            "%2 = input(shape=[4,6,6])\n"
            "%3 = max_pool2d(%2, kernel=[2])\n"
            "%4 =");
  EXPECT_EQ(cut(model, ids({1, 5}))->value.shape.text(), "[N, 12]");
}

TEST(Cut, ReportsSeveralCrossingValues) {
  const std::string residual =
      "%0 = input(shape=[8])\n"
      "%1 = linear(%0, out=8)\n"
      "%2 = linear(%0, out=8)\n"
      "%3 = linear(%1, out=8)\n"
      "%4 = add(%2, %3)\n"
      "%5 = output(%4)\n";
  expect_refused(cut(residual, ids({1, 2})), Code::kUnimplemented,
                 "after frozen %1 linear the trained nodes read several values (%1 linear, %2 linear)");
}

TEST(Cut, RejectsModelsThatCannotBeCut) {
  expect_refused(cut(kModel, ids({7})), Code::kUnimplemented,
                 "%7 linear is frozen, but follows %1 conv2d, which is not");
  expect_refused(cut(kModel, ids({1, 2, 5, 7})), Code::kInvalidArgument, "nothing to train");
  expect_refused(cut(kModel, {}), Code::kNotApplicable, "only the input");
  expect_refused(cut(kModel, ids({77})), Code::kNotFound, "frozen node %77 does not exist");
}

TEST(Cut, AcceptsNodesWithoutParameters) {
  const auto two =
      cut("%0 = input(shape=[1,8,8])\n%1 = relu(%0)\n%2 = flatten(%1)\n%3 = linear(%2, out=10)\n%4 = output(%3)\n", {});

  ASSERT_TRUE(two) << two.error().text();
  EXPECT_EQ(two->prefix.size(), 4U);
  EXPECT_EQ(to_text(two->head), "%2 = input(shape=[64])\n%3 = linear(%2, out=10)\n%4 = output(%3)\n");
}

}  // namespace
}  // namespace lanista::graph
