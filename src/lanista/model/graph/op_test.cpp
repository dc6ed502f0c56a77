#include "lanista/model/graph/op.h"

#include <gtest/gtest.h>

#include <limits>

#include "lanista/base/check.h"
#include "support/model/graph/test_support.h"

namespace lanista::graph {
namespace {

using testing::small_ops;

Error refusal(const Node& node) {
  const auto checked = check_node(node, small_ops());
  EXPECT_FALSE(checked.ok());
  return checked.ok() ? Error{} : checked.error();
}

Node linear(Attrs attrs) { return Node{NodeId{3}, "linear", std::move(attrs), {{NodeId{0}}}, {}}; }

TEST(OpTable, FindsByNameAndSuggestsTheNearest) {
  const OpTable ops = small_ops();
  ASSERT_NE(ops.find("linear"), nullptr);
  EXPECT_EQ(ops.find("linear")->name, "linear");
  EXPECT_EQ(ops.find("lineer"), nullptr);
  EXPECT_EQ(ops.nearest("lineer"), "linear");
  EXPECT_EQ(ops.nearest("transformer"), "");
}

TEST(OpTable, RefusesDefinitionsThatCannotWork) {
  OpTable ops = small_ops();
  const OpDef relu = *ops.find("relu");

  const auto again = ops.add(relu);
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error(), (Error{Code::kAlreadyExists, "operator relu is already in the table", ""}));

  const auto refused = [&](const OpDef& def, const std::string& message) {
    const auto added = ops.add(def);
    ASSERT_FALSE(added.ok());
    EXPECT_EQ(added.error().code, Code::kInvalidArgument);
    EXPECT_EQ(added.error().message, message);
  };
  OpDef bad = relu;
  bad.name = "my relu";
  refused(bad, "operator \"my relu\": a name has letters, digits and underscores, and no digit in front");
  bad = relu;
  bad.name = "r2";
  bad.infer = nullptr;
  refused(bad, "operator \"r2\": there is no inference rule");
  bad = *ops.find("linear");
  bad.name = "linears";
  bad.max_inputs = -1;
  refused(bad, "operator \"linears\": an operator with parameters must have a fixed number of inputs");
  bad = relu;
  bad.name = "r3";
  bad.attrs.resize(2);
  bad.attrs[0].name = bad.attrs[1].name = "k";
  refused(bad, "operator \"r3\": attribute k is declared twice");
}

TEST(CheckNode, AcceptsWhatTheDefinitionAllows) {
  const OpTable ops = small_ops();
  EXPECT_TRUE(check_node(linear({{"out", 3}, {"bias", false}}), ops).ok());
  const std::vector<Port> one{{NodeId{0}}};
  EXPECT_TRUE(check_node(Node{NodeId{1}, "scale", {{"by", 0.5}, {"mode", "down"}}, one, {}}, ops).ok());
  EXPECT_TRUE(check_node(Node{NodeId{1}, "scale", {{"by", 2}}, one, {}}, ops).ok());
}

TEST(CheckNode, NamesUnknownOperatorsWithTheNearest) {
  EXPECT_EQ(refusal(Node{NodeId{3}, "lineer", {}, {}, {}}),
            (Error{Code::kNotFound, "%3 lineer: unknown operator; did you mean linear?", ""}));
  EXPECT_EQ(refusal(Node{NodeId{3}, "transformer", {}, {}, {}}),
            (Error{Code::kNotFound, "%3 transformer: unknown operator", ""}));
}

TEST(CheckNode, NamesUnknownAttributesWithTheNearest) {
  const Error error = refusal(linear({{"out", 3}, {"bais", false}}));
  EXPECT_EQ(error.code, Code::kInvalidArgument);
  EXPECT_EQ(error.message, "%3 linear: unknown attribute bais; did you mean bias? (known: out, bias)");
  EXPECT_EQ(refusal(Node{NodeId{3}, "relu", {{"slope", 0.1}}, {{NodeId{0}}}, {}}).message,
            "%3 relu: unknown attribute slope; the operator has none");
}

TEST(CheckNode, RefusesWrongTypesAndValues) {
  EXPECT_EQ(
      refusal(linear({{"out", "many"}})),
      (Error{Code::kInvalidArgument, "%3 linear: attribute out=\"many\" must be an integer in [1, 2147483647]", ""}));
  EXPECT_EQ(refusal(linear({{"out", 0}})).message, "%3 linear: attribute out=0 must be an integer in [1, 2147483647]");
  EXPECT_EQ(refusal(linear({{"out", std::int64_t{1} << 31}})).message,
            "%3 linear: attribute out=2147483648 must be an integer in [1, 2147483647]");
  EXPECT_EQ(refusal(linear({{"out", 3}, {"bias", 1}})).message, "%3 linear: attribute bias=1 must be true or false");
  EXPECT_EQ(refusal(linear({{"out", 3}, {"in", 4}})).message,
            "%3 linear: attribute in follows from the inputs; leave it out");
  EXPECT_EQ(refusal(linear({})).message,
            "%3 linear: attribute out is missing; it must be an integer in [1, 2147483647]");

  const auto scale = [](Attrs attrs) { return Node{NodeId{3}, "scale", std::move(attrs), {{NodeId{0}}}, {}}; };
  EXPECT_EQ(refusal(scale({{"mode", "sideways"}})).message,
            "%3 scale: attribute mode=\"sideways\" must be one of \"up\", \"down\"");
  EXPECT_EQ(refusal(scale({{"by", true}})).message, "%3 scale: attribute by=true must be a number");
  EXPECT_EQ(refusal(scale({{"by", std::numeric_limits<double>::infinity()}})).message,
            "%3 scale: attribute by=inf must be a number");
  EXPECT_EQ(refusal(Node{NodeId{0}, "input", {{"shape", std::vector<std::int64_t>{3, -1}}}, {}, {}}).message,
            "%0 input: attribute shape=[3,-1] must be a list of integers in [1, 2147483647]");
}

TEST(CheckNode, RefusesWrongNumbersOfInputs) {
  const Port x{NodeId{0}, 0};
  EXPECT_EQ(refusal(Node{NodeId{3}, "relu", {}, {}, {}}),
            (Error{Code::kInvalidArgument, "%3 relu: has 0 inputs, needs 1", ""}));
  EXPECT_EQ(refusal(Node{NodeId{3}, "mul", {}, {x, x, x}, {}}).message, "%3 mul: has 3 inputs, needs 2");
  EXPECT_EQ(refusal(Node{NodeId{3}, "add", {}, {x}, {}}).message, "%3 add: has 1 inputs, needs at least 2");
}

TEST(OpArgs, GivesAttributesOrDefaultsAndRefusesOtherTypes) {
  const OpTable ops = small_ops();
  const Attrs attrs{{"by", 2}};
  const OpArgs args{{}, attrs, *ops.find("scale")};

  EXPECT_EQ(args.real("by"), 2.0);
  EXPECT_EQ(args.text("mode"), "up");
  EXPECT_THROW(args.flag("mode"), InternalError);
  EXPECT_THROW(args.integer("missing"), InternalError);
}

TEST(OpArgs, ReadsPairs) {
  const OpTable ops = small_ops();
  const auto pair_of = [&](std::vector<std::int64_t> list) {
    const Attrs attrs{{"shape", std::move(list)}};
    return OpArgs{{}, attrs, *ops.find("input")}.pair("shape");
  };
  EXPECT_EQ(pair_of({3}), (std::pair<std::int64_t, std::int64_t>{3, 3}));
  EXPECT_EQ(pair_of({3, 5}), (std::pair<std::int64_t, std::int64_t>{3, 5}));
  EXPECT_THROW(pair_of({1, 2, 3}), InternalError);
  EXPECT_THROW(pair_of({}), InternalError);
}

}  // namespace
}  // namespace lanista::graph
