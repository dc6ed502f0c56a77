// The mutators that options define: operator, input, insert, replace, duplicate.
#include "support/model/mutate/test_models.h"

namespace lanista::mutate {
namespace {

using testing::base_model;
using testing::kReject;
using testing::mutated;
using testing::mutator;
using testing::residual_model;
using testing::ScriptedChooser;

/// The questions of a mutator when every answer is the first, or its error.
std::string questions(const Mutator& mutator, const graph::Graph& base) {
  ScriptedChooser choose({0, 0, 0});
  const auto edited = testing::apply(mutator, base, choose);
  return edited ? choose.asked_labels() : edited.error().message;
}

std::string refused(const char* name, const nlohmann::json& options) {
  for (const MutatorPlugin& plugin : builtin_mutators()) {
    if (plugin.name != name) continue;
    const auto resolved = resolve_options(options, plugin.options);
    if (!resolved) return resolved.error().where + ": " + resolved.error().message;
    const auto made = plugin.make(*resolved);
    return made ? "accepted" : made.error().where + ": " + made.error().message;
  }
  return "no such mutator";
}

const char* const kMlp =
    "%0 = input(shape=[8])\n"
    "%1 = linear(%0, out=8) \"hidden\"\n"
    "%2 = relu(%1)\n"
    "%3 = linear(%2, out=3)\n"
    "%4 = output(%3)\n";

TEST(OperatorFamily, SetsAttributesAndLetsPaddingFollow) {
  const auto kernels = mutator("operator", {{"match", "conv2d"}, {"set", {{"kernel", {3, 5}}}}});

  EXPECT_EQ(questions(*kernels, base_model("small-cnn")), "site/2 to/1") << "3x3 is there already";
  const std::string text = mutated(*kernels, base_model("small-cnn"), {1, 0});
  EXPECT_NE(text.find("%4 = conv2d(%3, kernel=[5], out=32, padding=[2]) \"stage2\""), std::string::npos) << text;
}

TEST(OperatorFamily, CombinesOperatorsAndAttributes) {
  const auto both = mutator(
      "operator",
      {{"match", "relu"}, {"to", {"elu(alpha=0.5)", "leaky_relu", "relu"}}, {"set", {{"alpha", {0.25, 0.75}}}}});

  EXPECT_EQ(questions(*both, testing::model(kMlp)), "site/1 to/4") << "relu has no alpha";
  EXPECT_EQ(mutated(*both, testing::model(kMlp), {0, 1}),
            "%0 = input(shape=[8])\n"
            "%1 = linear(%0, out=8) \"hidden\"\n"
            "%2 = leaky_relu(%1, alpha=0.25)\n"
            "%3 = linear(%2, out=3)\n"
            "%4 = output(%3)\n");
}

TEST(OperatorFamily, ChangesTiedNodesTogether) {
  const auto model = testing::model(
      "%0 = input(shape=[4])\n%1 = linear(%0, out=4) \"a\"\n%2 = linear(%1, out=4) \"a\"\n"
      "%3 = linear(%2, out=4)\n%4 = output(%3)\n");
  const auto width = mutator("operator", {{"match", "linear"}, {"set", {{"out", {4, 6}}}}});

  EXPECT_EQ(questions(*width, model), "site/1 to/1") << "the last one gives the output";
  const std::string text = mutated(*width, model, {0, 0});
  EXPECT_NE(text.find("%1 = linear(%0, out=6) \"a\"\n%2 = linear(%1, out=6) \"a\"\n"), std::string::npos) << text;
}

TEST(OperatorFamily, ReportsWhyNothingFits) {
  EXPECT_EQ(mutated(*mutator("operator", {{"match", "conv2d"}}), testing::model(kMlp), {}),
            "not_applicable: operator: the model has no node that matches the pattern \"conv2d\"");
  EXPECT_EQ(mutated(*mutator("operator", {{"match", "relu"}, {"set", {{"out", 3}}}}), testing::model(kMlp), {}),
            "not_applicable: operator: no site among 1: %2 relu: relu has no attribute out");
}

TEST(InsertFamily, InsertsLayersAfterNodeOrOnEdge) {
  const auto behind = mutator("insert", {{"match", "relu"}, {"of", {"linear >> silu", "conv3x3"}}});
  EXPECT_EQ(questions(*behind, testing::model(kMlp)), "site/1 of/1") << "there are no images";
  EXPECT_EQ(mutated(*behind, testing::model(kMlp), {0, 0}),
            "%0 = input(shape=[8])\n"
            "%1 = linear(%0, out=8) \"hidden\"\n"
            "%2 = relu(%1)\n"
            "%5 = linear(%2, out=8)\n"
            "%6 = silu(%5)\n"
            "%3 = linear(%6, out=3)\n"
            "%4 = output(%3)\n");

  const auto between = mutator("insert", {{"match", "relu -> add"}, {"of", {"batch_norm"}}});
  const std::string text = mutated(*between, residual_model(), {0, 0});
  EXPECT_NE(text.find("%4 = conv2d(%3,"), std::string::npos) << text;
  EXPECT_NE(text.find("%7 = add(%6, %19)\n"), std::string::npos) << text;
  EXPECT_NE(text.find("%19 = batch_norm(%3)\n"), std::string::npos) << text;
}

TEST(ReplaceFamily, PutsAChainInThePlaceOfOne) {
  const auto same = mutator("replace", {{"match", "conv2d as c >> batch_norm >> relu as r"},
                                        {"by", {"conv2d(kernel=[1], out=$c.out) >> gelu", "conv3x3"}}});
  const std::string text = mutated(*same, residual_model(), {0, 0}, kReject);
  EXPECT_NE(text.find("%19 = conv2d(%0, kernel=[1], out=8)\n%20 = gelu(%19)\n"), std::string::npos) << text;
  EXPECT_NE(text.find("%4 = conv2d(%20, "), std::string::npos) << text;
  EXPECT_EQ(text.find("batch_norm"), std::string::npos) << text;
}

TEST(ReplaceFamily, SkipsEqualReplacement) {
  EXPECT_EQ(mutated(*mutator("replace", {{"match", "relu"}, {"by", {"relu"}}}), testing::model(kMlp), {}),
            "not_applicable: replace: no site among 1: %2 relu: no chain of `by` fits that is not there already");
}

TEST(DuplicateFamily, RepeatsAChainWithParametersOfItsOwn) {
  const auto twice = mutator("duplicate", {{"match", "linear >> relu"}});

  EXPECT_EQ(mutated(*twice, testing::model(kMlp), {0}),
            "%0 = input(shape=[8])\n"
            "%1 = linear(%0, out=8) \"hidden\"\n"
            "%2 = relu(%1)\n"
            "%5 = linear(%2, out=8) \"hidden\"\n"
            "%6 = relu(%5)\n"
            "%3 = linear(%6, out=3)\n"
            "%4 = output(%3)\n");
  EXPECT_EQ(mutated(*mutator("duplicate", {{"match", "* >> add"}}), residual_model(), {}),
            "not_applicable: duplicate: no site among 1: %6 gelu: %7 add reads 2 values");
}

TEST(InputFamily, RewiresAndAdds) {
  const auto rewire = mutator("input", {{"match", "gelu"}, {"from", "relu"}});
  std::string text = mutated(*rewire, residual_model(), {0, 0});
  EXPECT_NE(text.find("%6 = gelu(%3)\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("group_norm"), std::string::npos) << "what feeds nothing goes: " << text;

  const auto further = mutator("input", {{"match", "add"}, {"from", "input"}, {"mode", "add"}});
  text = mutated(*further, residual_model(), {0, 0});
  EXPECT_NE(text.find("%7 = add(%6, %3, %19)\n"), std::string::npos) << text;
  EXPECT_NE(text.find("%19 = conv2d(%0, kernel=[1], out=8) \"repair\"\n"), std::string::npos) << text;

  const auto sum = mutator("input", {{"match", "linear & out == 3"}, {"from", "input"}, {"mode", "add"}});
  text = mutated(*sum, testing::model(kMlp), {0, 0});
  EXPECT_NE(text.find("%3 = linear(%5, out=3)\n"), std::string::npos) << text;
  EXPECT_NE(text.find("%5 = add(%2, %0) \"skip\"\n"), std::string::npos) << text;
}

TEST(Families, RefuseBadOptions) {
  EXPECT_EQ(refused("operator", {{"match", "relu >> relu"}}),
            "match: the pattern \"relu >> relu\" is a chain of 2, at most 1 are allowed");
  EXPECT_EQ(refused("operator", {{"set", {{"kernal", 3}}}}),
            "set: no operator has an attribute 'kernal'; did you mean 'kernel'?");
  EXPECT_EQ(refused("operator", {{"set", {{"kernel", nlohmann::json::array()}}}}),
            "set: 'kernel' needs at least one value");
  EXPECT_EQ(refused("operator", {{"set", 3}}), "set: expected a map from names to values, not 3");
  EXPECT_EQ(refused("operator", {{"to", {"gelo"}}}),
            "to: in the layer \"gelo\": unknown layer 'gelo'; did you mean 'gelu'?");
  EXPECT_EQ(
      refused("insert", {{"match", "relu"}, {"of", {"dropout(q=0.5)"}}}).find("of: in the layer \"dropout(q=0.5)\": "),
      0u);
  EXPECT_EQ(refused("insert", {{"match", "relu"}, {"of", {"add"}}}),
            "of: in the layer \"add\": add is no layer with one input");
  EXPECT_EQ(refused("insert", {{"match", "relu"}, {"of", {"relu >> "}}}), "of: in the layer \" \": a layer is missing");
  EXPECT_EQ(refused("insert", {{"match", "relu"}, {"of", nlohmann::json::array()}}),
            "of: at least one layer is needed");
  EXPECT_EQ(refused("insert", {{"of", {"relu"}}}), "match: option 'match' must be given: expected a text");
  EXPECT_EQ(refused("replace", {{"match", "linear as a"}, {"by", {"linear(out=$b.out)"}}}),
            "by: in the layer \"linear(out=$b.out)\": the pattern names no node 'b'; did you mean 'a'?");
}

}  // namespace
}  // namespace lanista::mutate
