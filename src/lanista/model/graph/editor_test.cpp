#include "lanista/model/graph/editor.h"

#include <gtest/gtest.h>

#include "lanista/base/check.h"
#include "lanista/model/graph/size_limits.h"
#include "lanista/model/graph/text.h"
#include "support/model/graph/test_support.h"

namespace lanista::graph {
namespace {

using namespace testing;

std::string committed(Editor&& edit) {
  const auto edited = std::move(edit).commit();
  return edited.ok() ? to_text(edited->graph) : edited.error().text();
}

TEST(Editor, LeavesTheBaseAlone) {
  const OpTable ops = small_ops();
  const Graph base = small_model();
  Editor edit(base, ops);
  edit.set(NodeId{1}, "out", std::int64_t{16});
  edit.replace(NodeId{2}, "gelu", {});

  EXPECT_EQ(committed(std::move(edit)),
            "%0 = input(shape=[4])\n"
            "%1 = linear(%0, out=16) \"hidden\"\n"
            "%2 = gelu(%1)\n"
            "%3 = linear(%2, out=3)\n"
            "%4 = output(%3)\n");
  EXPECT_EQ(base, small_model());
}

TEST(Editor, InsertsBetweenAValueAndItsUsers) {
  const OpTable ops = small_ops();
  Editor edit(small_model(), ops);
  const NodeId added = edit.insert_after({NodeId{1}, 0}, "scale", {{"by", 0.5}}, "new");

  EXPECT_EQ(added, NodeId{5});
  EXPECT_EQ(committed(std::move(edit)),
            "%0 = input(shape=[4])\n"
            "%1 = linear(%0, out=8) \"hidden\"\n"
            "%5 = scale(%1, by=0.5) \"new\"\n"
            "%2 = relu(%5)\n"
            "%3 = linear(%2, out=3)\n"
            "%4 = output(%3)\n");
}

TEST(Editor, ReplacesUsesOfThatOutputOnly) {
  const OpTable ops = small_ops();
  Editor edit(parsed("%0 = input(shape=[4])\n%1 = split(%0)\n%2 = join(%1, %1.1)\n%3 = output(%2)\n"), ops);
  edit.insert_after({NodeId{1}, 1}, "relu");

  EXPECT_EQ(committed(std::move(edit)),
            "%0 = input(shape=[4])\n%1 = split(%0)\n%4 = relu(%1.1)\n%2 = join(%1, %4)\n%3 = output(%2)\n");
}

TEST(Editor, AppendsInputToVariadicNode) {
  const OpTable ops = small_ops();
  Editor edit(parsed("%0 = input(shape=[4])\n%1 = relu(%0)\n%2 = add(%0, %1)\n%3 = output(%2)\n"), ops);
  edit.set_input(NodeId{2}, 2, {NodeId{0}, 0});

  EXPECT_THROW(edit.set_input(NodeId{2}, 4, {NodeId{0}, 0}), InternalError);
  EXPECT_EQ(committed(std::move(edit)),
            "%0 = input(shape=[4])\n%1 = relu(%0)\n%2 = add(%0, %1, %0)\n%3 = output(%2)\n");
}

TEST(Editor, BypassRemovesExclusiveInputs) {
  const OpTable ops = small_ops();
  const Graph base = parsed(
      "%0 = input(shape=[4])\n%1 = relu(%0)\n%2 = gelu(%1)\n%3 = relu(%2)\n%4 = scale(%1)\n%5 = mul(%4, %3)\n"
      "%6 = output(%5)\n");
  Editor edit(base, ops);
  edit.bypass(NodeId{5});  // removes %3 and %2, which only the product reads; %4 also reads %1

  EXPECT_EQ(committed(std::move(edit)), "%0 = input(shape=[4])\n%1 = relu(%0)\n%4 = scale(%1)\n%6 = output(%4)\n");

  Editor other(base, ops);
  other.bypass(NodeId{5}, 1);
  EXPECT_EQ(committed(std::move(other)),
            "%0 = input(shape=[4])\n%1 = relu(%0)\n%2 = gelu(%1)\n%3 = relu(%2)\n%6 = output(%3)\n");
}

TEST(Editor, BypassRemovesATwiceReadProducerOnce) {
  const OpTable ops = small_ops();
  Editor edit(parsed("%0 = input(shape=[4])\n%1 = relu(%0)\n%2 = gelu(%0)\n%3 = add(%1, %2, %2)\n%4 = output(%3)\n"),
              ops);
  edit.bypass(NodeId{3});

  EXPECT_EQ(committed(std::move(edit)), "%0 = input(shape=[4])\n%1 = relu(%0)\n%4 = output(%1)\n");
}

TEST(Editor, CommitRefusesWhatDoesNotVerify) {
  const OpTable ops = small_ops();
  Editor removed(small_model(), ops);
  removed.remove(NodeId{2});
  const auto dangling = std::move(removed).commit();
  ASSERT_FALSE(dangling.ok());
  EXPECT_EQ(dangling.error().code, Code::kInvalidArgument);
  EXPECT_EQ(dangling.error().message, "%3 linear: reads %2, but there is no such node");

  Editor dead(small_model(), ops);
  dead.add("relu", {{NodeId{1}}});
  const auto unread = std::move(dead).commit();
  ASSERT_FALSE(unread.ok());
  EXPECT_EQ(unread.error().message, "%5 relu: is dead: its result does not reach the output");
}

TEST(Editor, GivesTypesOfTheGraphAsEditedSoFar) {
  const OpTable ops = small_ops();
  Editor edit(small_model(), ops);
  edit.set(NodeId{1}, "out", std::int64_t{16});
  EXPECT_EQ(edit.types()->at({NodeId{2}, 0}).shape, (Shape{{kBatch, 16}}));

  edit.remove(NodeId{0});
  EXPECT_FALSE(edit.types().ok());
}

TEST(Editor, NamingNodesThatAreNotThereIsABug) {
  const OpTable ops = small_ops();
  Editor edit(small_model(), ops);
  EXPECT_THROW(edit.set(NodeId{9}, "out", true), InternalError);
  EXPECT_THROW(edit.remove(NodeId{9}), InternalError);
  EXPECT_THROW(edit.replace(NodeId{9}, "relu", {}), InternalError);
  EXPECT_THROW(edit.bypass(NodeId{0}), InternalError);
}

TEST(ApplyEdits, KeepsTheIdsOfNodesThatCameAndWent) {
  const OpTable ops = small_ops();
  Editor edit(small_model(), ops);
  edit.bypass(edit.insert_after({NodeId{1}, 0}, "gelu"));
  const auto edited = std::move(edit).commit();
  ASSERT_TRUE(edited.ok());

  EXPECT_EQ(edited->graph.next_id(), NodeId{6});
  EXPECT_EQ(*apply_edits(small_model(), edited->edits, ops), edited->graph);
}

TEST(ApplyEdits, RefusesEditsOfAnotherGraph) {
  const OpTable ops = small_ops();
  const auto refused = [&](const Edit& edit) {
    const auto graph = apply_edits(small_model(), std::vector<Edit>{edit}, ops);
    EXPECT_FALSE(graph.ok());
    if (graph.ok()) return std::string();
    EXPECT_EQ(graph.error().code, Code::kDataLoss);
    return graph.error().message;
  };
  EXPECT_EQ(refused(RemoveNode{NodeId{9}}), "edit 1 (remove %9): there is no node %9");
  EXPECT_EQ(refused(SetAttr{NodeId{9}, "out", std::int64_t{3}}), "edit 1 (attr %9 out = 3): there is no node %9");
  EXPECT_EQ(refused(SetInput{NodeId{9}, 0, {}}), "edit 1 (input %9 0 = %0): there is no node %9");
  EXPECT_EQ(refused(SetInput{NodeId{2}, 3, {}}),
            "edit 1 (input %2 3 = %0): %2 has 1 inputs, input 3 would leave a gap");
  EXPECT_EQ(refused(PutNode{Node{NodeId{kMaxNodeId + 1}, "relu", {}, {}, {}}}),
            "edit 1 (put %2147483647 = relu()): node number 2147483647 is too large");

  const std::vector<Edit> again{RemoveNode{NodeId{2}}, PutNode{Node{NodeId{2}, "relu", {}, {}, {}}}};
  const auto reused = apply_edits(small_model(), again, ops);
  ASSERT_FALSE(reused.ok());
  EXPECT_EQ(reused.error(), (Error{Code::kDataLoss, "edit 2 (put %2 = relu()): number %2 was used before", ""}));
}

TEST(ApplyEdits, MayUseNumbersThatWereReserved) {
  const OpTable ops = small_ops();
  GraphBuilder gap(small_model());
  gap.reserve_ids(NodeId{9});
  const std::vector<Edit> edits{PutNode{Node{NodeId{7}, "relu", {}, {{NodeId{1}, 0}}, {}}},
                                SetInput{NodeId{2}, 0, {NodeId{7}, 0}}};
  const auto graph = apply_edits(gap.peek(), edits, ops);
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  EXPECT_EQ(graph->next_id(), NodeId{9});
}

TEST(ApplyEdits, VerifiesTheResult) {
  const auto graph = apply_edits(small_model(), std::vector<Edit>{RemoveNode{NodeId{2}}}, small_ops());
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.error().code, Code::kInvalidArgument);
}

/// Random changes that keep every value at [N, 4]. The result may fail to verify.
void scramble(Editor& edit, Rng& rng) {
  for (std::int64_t left = rng.between(1, 6); left > 0; --left) {
    const auto ids = edit.graph().ids();
    const Node node = edit.graph().node(ids[rng.below(ids.size())]);
    const Node other = edit.graph().node(ids[rng.below(ids.size())]);
    if (node.op == "input" || node.op == "output") continue;
    switch (rng.below(6)) {
      case 0:
        edit.insert_after({node.id, 0}, "scale", {{"by", rng.normal()}}, "inserted");
        break;
      case 1:
        edit.bypass(node.id, static_cast<std::uint32_t>(rng.below(node.inputs.size())));
        break;
      case 2:
        if (node.op == "linear") edit.set(node.id, "bias", rng.bernoulli(0.5));
        break;
      case 3:
        if (node.op == "relu") edit.replace(node.id, "linear", {{"out", 4}});
        break;
      case 4:
        edit.set_input(node.id, 0, {other.id, 0});
        break;
      default:
        edit.set_input(edit.insert_after({node.id, 0}, "add"), 1, {other.id, 0});
        break;
    }
  }
}

TEST(ApplyEdits, ReplaysRandomEditsToTheSameGraph) {
  const OpTable ops = small_ops();
  Rng rng(8);
  int replayed = 0;
  for (int round = 0; round < 600; ++round) {
    const Graph base = random_model(rng);
    Editor edit(base, ops);
    scramble(edit, rng);
    const auto edited = std::move(edit).commit();
    if (!edited.ok()) continue;

    std::vector<Edit> read_back;
    for (const Edit& e : edited->edits) {
      const auto again = parse_edit(edit_text(e));
      ASSERT_TRUE(again.ok()) << edit_text(e) << ": " << again.error().text();
      ASSERT_EQ(*again, e) << edit_text(e);
      read_back.push_back(*again);
    }
    const auto graph = apply_edits(base, read_back, ops);
    ASSERT_TRUE(graph.ok()) << graph.error().text();
    ASSERT_EQ(*graph, edited->graph);
    ++replayed;
  }
  EXPECT_GT(replayed, 200);
}

TEST(EditText, WritesOneLineAnEdit) {
  EXPECT_EQ(edit_text(PutNode{small_model().node(NodeId{1})}), "put %1 = linear(%0, out=8) \"hidden\"");
  EXPECT_EQ(edit_text(RemoveNode{NodeId{5}}), "remove %5");
  EXPECT_EQ(edit_text(SetInput{NodeId{5}, 1, {NodeId{3}, 1}}), "input %5 1 = %3.1");
  EXPECT_EQ(edit_text(SetAttr{NodeId{5}, "mode", "up"}), "attr %5 mode = \"up\"");
}

TEST(ParseEdit, ReportsErrorWithLineAndColumn) {
  const auto expect = [](std::string_view text, const std::string& where, const std::string& message) {
    const auto edit = parse_edit(text);
    ASSERT_FALSE(edit.ok()) << text;
    EXPECT_EQ(edit.error(), (Error{Code::kInvalidArgument, message, where}));
  };
  expect("", "1:1", "expected put, remove, input or attr, found the end of the line");
  expect("delete %1", "1:1", "unknown edit \"delete\"; known: put, remove, input, attr");
  expect("remove 1", "1:8", "expected \"%\", found \"1\"");
  expect("remove %1 %2", "1:11", "expected the end of the line, found \"%\"");
  expect("input %1 = %2", "1:10", "expected an input number, found \"=\"");
  expect("attr %1 out 3", "1:13", "expected \"=\", found \"3\"");
  expect("put relu(%0)", "1:5", "expected \"%\", found \"r\"");
  expect("remove %1\nremove %2", "1:10", "an edit is one line");
}

}  // namespace
}  // namespace lanista::graph
