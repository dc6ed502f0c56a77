#include "lanista/model/graph/text.h"

#include <gtest/gtest.h>

#include <limits>

#include "lanista/model/graph/size_limits.h"
#include "support/model/graph/test_support.h"

namespace lanista::graph {
namespace {

using testing::random_model;
using testing::small_model;

Error refusal(std::string_view text) {
  const auto graph = parse(text);
  EXPECT_FALSE(graph.ok()) << text;
  return graph.ok() ? Error{} : graph.error();
}

TEST(Text, WritesOneNodeALine) {
  EXPECT_EQ(to_text(small_model()),
            "%0 = input(shape=[4])\n"
            "%1 = linear(%0, out=8) \"hidden\"\n"
            "%2 = relu(%1)\n"
            "%3 = linear(%2, out=3)\n"
            "%4 = output(%3)\n");
  EXPECT_EQ(to_text(Graph()), "");
}

TEST(Text, KeepsTheFirstFreeIdOnlyWhereItIsNeeded) {
  GraphBuilder builder(small_model());
  builder.reserve_ids(NodeId{9});
  const std::string text = to_text(builder.peek());
  EXPECT_EQ(text.substr(0, text.find('\n')), "next_id 9");
  EXPECT_EQ(*parse(text), builder.peek());
}

TEST(Text, ReadsCommentsSpacesAndAnyOrder) {
  const auto graph = parse(
      "# a model\r\n\n"
      "  %4=output( %3 )   # the end\n"
      "\t%3 = linear(%2,out=3)\n"
      "%0 = input(shape=[ 4 ])\n"
      "%1 = linear(%0, out=8) \"hidden\" # label\n"
      "%2 = relu(%1)");
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  EXPECT_EQ(*graph, small_model());
}

TEST(Text, RoundTripsEveryKindOfAttribute) {
  GraphBuilder builder;
  builder.add("op", {{NodeId{8}, 3}},
              {{"a", true},
               {"b", std::numeric_limits<std::int64_t>::min()},
               {"c", 0.1 + 0.2},
               {"d", -0.0},
               {"e", std::string("\x01 \" \\ \n \t # %1 \xc3\xa9 \x7f")},
               {"f", std::vector<std::int64_t>{}},
               {"g", std::vector<std::int64_t>{-1, 0, 7}},
               {"h", 5e-324},
               {"i", 1e22}});
  const auto graph = parse(to_text(builder.peek()));
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  EXPECT_EQ(*graph, builder.peek());
}

TEST(Text, RoundTripsRandomModels) {
  Rng rng(6);
  for (int round = 0; round < 500; ++round) {
    const Graph graph = random_model(rng);
    const auto again = parse(to_text(graph));
    ASSERT_TRUE(again.ok()) << again.error().text();
    ASSERT_EQ(*again, graph) << to_text(graph);
  }
}

TEST(Text, LosesNothingOfAGraphWithACycle) {
  const std::string text = "%0 = add(%0, %1)\n%1 = relu(%0)\n";
  EXPECT_EQ(to_text(*parse(text)), text);
}

TEST(Parse, ReportsErrorWithLineAndColumn) {
  const auto expect = [](std::string_view text, const std::string& where, const std::string& message) {
    EXPECT_EQ(refusal(text), (Error{Code::kInvalidArgument, message, where}));
  };
  expect("%0 = input(shape=[4])\n1 = relu(%0)\n", "2:1", "expected \"%\", found \"1\"");
  expect("%0 : relu()", "1:4", "expected \"=\", found \":\"");
  expect("%x = relu()", "1:2", "expected a node number, found \"x\"");
  expect("%0 = 3()", "1:6", "expected an operator, found \"3\"");
  expect("%0 = relu", "1:10", "expected \"(\", found the end of the line");
  expect("%0 = relu(%1", "1:13", "expected \")\", found the end of the line");
  expect("%0 = relu(%1,)", "1:14", "expected an input or an attribute, found \")\"");
  expect("%0 = relu(a=1, %1)", "1:16", "inputs must be before attributes");
  expect("%0 = relu(a=1, a=2)", "1:16", "attribute a is given twice");
  expect("%0 = relu(a)", "1:12", "expected \"=\", found \")\"");
  expect("%0 = relu(a=)", "1:13", "expected a value, found \")\"");
  expect("%0 = relu(a=yes)", "1:13", "unknown value \"yes\"; strings must be in quotes");
  expect("%0 = relu(a=nan)", "1:13", "unknown value \"nan\"; strings must be in quotes");
  expect("%0 = relu(a=-)", "1:13", "expected a value, found \"-\"");
  expect("%0 = relu(a=1.2.3)", "1:13", "\"1.2.3\" is not a number");
  expect("%0 = relu(a=1e999)", "1:13", "\"1e999\" is not a number");
  expect("%0 = relu(a=9223372036854775808)", "1:13", "\"9223372036854775808\" is not a 64-bit integer");
  expect("%0 = relu(a=[1,2.5])", "1:16", "a list holds integers");
  expect("%0 = relu(a=[1 2])", "1:16", "expected \"]\", found \"2\"");
  expect("%0 = relu(a=\"x)", "1:13", "the string has no closing quote");
  expect("%0 = relu() \"caf\\xe9\"", "1:13", "the string is not UTF-8");
  expect("%0 = relu(a=\"\\q\")", "1:14", "unknown escape; known: \\\" \\\\ \\n \\t \\xHH");
  expect("%0 = relu(a=\"\\x1\")", "1:14", "\\x needs two hexadecimal digits");
  expect("%0 = relu() label", "1:13", "expected the end of the line, found \"l\"");
  expect("%0 = relu()\n\n%0 = gelu()\n", "3:1", "node %0 is already on line 1");
  expect("%2147483647 = relu()", "1:2", "a node number is larger than 2147483646");
  expect("%99999999999999999999 = relu()", "1:2", "a node number is larger than 2147483646");
  expect("next_id x", "1:9", "expected a node number, found \"x\"");
  expect("%0 = relu()\nnext_id 4", "2:1", "expected \"%\", found \"n\"");
}

TEST(Parse, RespectsLimits) {
  const auto repeated = [](std::string_view piece, std::size_t times) {
    std::string out;
    for (std::size_t i = 0; i < times; ++i) out += (i == 0 ? "" : ",") + std::string(piece);
    return out;
  };
  EXPECT_TRUE(parse("%0 = add(" + repeated("%1", kMaxTextInputs) + ")").ok());
  EXPECT_EQ(refusal("%0 = add(" + repeated("%1", kMaxTextInputs + 1) + ")").message, "a node has at most 64 inputs");
  EXPECT_TRUE(parse("%0 = add(a=[" + repeated("1", kMaxListLength) + "])").ok());
  EXPECT_EQ(refusal("%0 = add(a=[" + repeated("1", kMaxListLength + 1) + "])").message,
            "a list has at most 64 elements");
  EXPECT_TRUE(parse("%0 = add() \"" + std::string(kMaxStringLength, 'x') + "\"").ok());
  EXPECT_EQ(refusal("%0 = add() \"" + std::string(kMaxStringLength + 1, 'x') + "\"").message,
            "the string is longer than 4096 bytes");

  std::string attrs;
  for (std::size_t i = 0; i <= kMaxAttrs; ++i) attrs += (i == 0 ? "a" : ",a") + std::to_string(i) + "=1";
  EXPECT_EQ(refusal("%0 = add(" + attrs + ")").message, "a node has at most 64 attributes");

  std::string many;
  for (std::size_t i = 0; i <= kMaxTextAttrs / 4; ++i) many += "%" + std::to_string(i) + " = r(a=1,b=1,c=1,d=1)\n";
  EXPECT_EQ(refusal(many).message, "a model has at most 100000 nodes");
  many.insert(many.find(",b"), ",e=1");
  EXPECT_EQ(refusal(many), (Error{Code::kInvalidArgument, "a model has at most 400000 attributes", "100000:1"}));

  std::string lines;
  for (std::size_t i = 0; i < kMaxTextNodes; ++i) lines += "%" + std::to_string(i) + " = r()\n";
  EXPECT_TRUE(parse(lines).ok());
  lines += "%100000 = r()\n";
  EXPECT_EQ(refusal(lines), (Error{Code::kInvalidArgument, "a model has at most 100000 nodes", "100001:1"}));
}

TEST(Parse, NeverCrashesOnDamagedText) {
  Rng rng(7);
  int refused = 0;
  for (int round = 0; round < 5000; ++round) {
    std::string text = to_text(random_model(rng));
    switch (rng.below(3)) {
      case 0:
        text.resize(rng.below(text.size()));
        break;
      case 1:
        text[rng.below(text.size())] ^= static_cast<char>(1u << rng.below(8));
        break;
      default: {
        const std::size_t at = rng.below(text.size());
        text.insert(rng.below(text.size()), text.substr(at, rng.below(20)));
        break;
      }
    }
    const auto graph = parse(text);
    if (graph.ok()) {
      ASSERT_EQ(*parse(to_text(*graph)), *graph) << text;
    } else {
      ++refused;
      ASSERT_EQ(graph.error().code, Code::kInvalidArgument);
      ASSERT_NE(graph.error().where.find(':'), std::string::npos);
    }
  }
  EXPECT_GT(refused, 1000);
}

TEST(Dot, WritesNodesAndEdges) {
  const auto graph = parse("%0 = input(shape=[4])\n%1 = split(%0) \"a\\\"b\"\n%2 = output(%1.1)\n");
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(to_dot(*graph),
            "digraph model {\n"
            "  node [shape=box];\n"
            "  n0 [label=\"%0 input\\nshape=[4]\"];\n"
            "  n1 [label=\"%1 split\\n\\\"a\\\\\\\"b\\\"\"];\n"
            "  n2 [label=\"%2 output\"];\n"
            "  n0 -> n1;\n"
            "  n1 -> n2 [label=\".1\"];\n"
            "}\n");
}

}  // namespace
}  // namespace lanista::graph
