#include "lanista/model/mutate/pattern.h"

#include "support/model/mutate/test_models.h"

namespace lanista::mutate {
namespace {

using testing::base_model;
using testing::residual_model;

std::string shown(const std::vector<Match>& matches) {
  std::string text;
  for (const Match& match : matches) {
    if (!text.empty()) text += ", ";
    for (std::size_t i = 0; i < match.nodes.size(); ++i) {
      text += (i == 0 ? "" : " ") + std::to_string(match.nodes[i].value);
      if (!match.names[i].empty()) text += "=" + match.names[i];
    }
  }
  return text;
}

std::string found(const graph::Graph& model, const Pattern& pattern) {
  const auto ops = graph::builtin_ops();
  const auto view = ModelView::make(model, ops);
  EXPECT_TRUE(view.ok()) << view.error().text();
  return shown(pattern.find(*view));
}

/// The matches of the text, or the error message.
std::string found(const graph::Graph& model, const char* text) {
  const auto pattern = Pattern::parse(text, graph::builtin_ops());
  return pattern ? found(model, *pattern) : pattern.error().message;
}

/// Texts of patterns, each with its matches or error message.
using Cases = std::initializer_list<std::pair<std::string, std::string>>;

void expect_found(const graph::Graph& model, Cases cases) {
  for (const auto& [text, matches] : cases) EXPECT_EQ(found(model, text.c_str()), matches) << text;
}

TEST(Pattern, JoinsItsTerms) {
  const auto cnn = base_model("small-cnn");

  expect_found(cnn, {{"", "0, 1, 2, 3, 4, 5, 6, 7, 8, 9"},
                     {"conv2d", "1, 4"},
                     {"conv3x3&label(*2)", "4"},
                     {" conv2d && label( stage? ) ", "1, 4"},
                     {"conv1x1", ""},
                     {"relu & conv2d", ""},
                     {"%4", "4"},
                     {"* & label(stage*)", "1, 4"}});
}

TEST(Pattern, ReadsAttributesWithTheirDefaults) {
  const auto model = residual_model();

  expect_found(model, {{"conv2d & kernel > 1", "1, 4"},
                       {"kernel == 1", "8"},
                       {"conv2d & kernel != 3", "8"},
                       {"out in [12, 16, 24]", "8, 9, 15"},
                       {"conv2d & groups == 1", "1, 8"},
                       {"groups >= 2 & out < 9", "4"},
                       {"padding == same & kernel >= 1 & conv2d", "1, 4, 8"},
                       {"padding == same & stride == [2,2]", "8, 9"},
                       {"bias == false", ""},
                       {"dropout & p == 0.1", "11"}});
}

TEST(Pattern, MatchesChainsWithSingleReaders) {
  const auto model = residual_model();

  expect_found(model, {{"conv2d as c >> batch_norm >> relu as r", "1=c 2 3=r"},
                       {"relu >> conv2d", ""},  // The add reads the relu too.
                       {"relu -> conv2d", "3 4"},
                       {"relu -> *", "3 4, 3 7"},
                       {"* >> add", "6 7"},
                       {"linear >> * >> linear", "15 16 17"}});
}

TEST(Pattern, MatchesCppNotation) {
  const auto model = residual_model();

  EXPECT_EQ(found(model, Pattern(op("conv2d") && attr("kernel") > 1 && label("st*"))), "1, 4");
  EXPECT_EQ(found(model, chain(op("conv2d").as("c") >> op("batch_norm") >> op("relu").as("r"))), "1=c 2 3=r");
  EXPECT_EQ(found(model, Pattern(op("relu")).then(op("conv2d"), true)), "3 4");
  EXPECT_EQ(found(model, Pattern(one_of(attr("out"), {attr_value(12), attr_value(16)}))), "8, 9");
  EXPECT_EQ(found(model, Pattern(op("conv2d") && attr("padding") == "same" && attr("groups") != 1)), "4");
  EXPECT_EQ(found(model, Pattern(node(graph::NodeId{7}))), "7");
}

TEST(Pattern, NeverMatchesRepairs) {
  const auto model = testing::model(
      "%0 = input(shape=[4])\n%1 = linear(%0, out=4) \"repair\"\n%2 = linear(%1, out=4)\n%3 = output(%2)\n");

  expect_found(model, {{"linear", "2"}, {"linear >> linear", ""}});
}

TEST(Pattern, ReportsPositionOfError) {
  const auto cnn = base_model("small-cnn");

  for (const auto& [text, error] :
       Cases{{"relu &", "7: a term is missing: found the end"},
             {"relu >> ", "9: a term is missing: found the end"},
             {"relu & label(x", "8: label( lacks its closing bracket"},
             {"gelo", "1: unknown term 'gelo'; did you mean 'gelu'?"},
             {"conv2d & kernal > 1", "10: unknown attribute 'kernal'; did you mean 'kernel'?"},
             {"conv2d & kernel in 3", "20: expected [VALUE, …] behind 'in', found '3'"},
             {"conv2d as a >> relu as a", "24: the name 'a' is given twice"},
             {"conv2d as >> relu", "11: expected a name behind 'as', found '>> relu'"},
             {"conv2d relu", "8: expected &, as, >> or ->, found 'relu'"},
             {"relu>>relu>>relu>>relu>>relu>>relu>>relu>>relu>>relu", "47: a chain has at most 8 nodes"}}) {
    EXPECT_EQ(found(cnn, text.c_str()), "in the pattern \"" + text + "\", column " + error);
  }
}

TEST(Pattern, ParsesOrRejectsAnyText) {
  const std::vector<std::string> tokens{
      "conv2d", "relu", "kernel", "in",  "as",   "label(", ")", "*",    "%",  "3",
      ">>",     "->",   "&",      "&&",  ">",    "==",     "[", "]",    ",",  " ",
      "same",   "\"",   "-1",     "1e9", "\xff", "\\",     "$", "true", "!=", "99999999999999999999"};
  const auto ops = graph::builtin_ops();
  const auto cnn = base_model("small-cnn");
  const auto view = ModelView::make(cnn, ops);
  ASSERT_TRUE(view.ok());
  Rng rng(9);
  int accepted = 0;
  for (int round = 0; round < 1000; ++round) {
    std::string text;
    for (std::uint64_t left = 1 + rng.below(8); left > 0; --left) text += tokens[rng.below(tokens.size())];
    const auto pattern = Pattern::parse(text, ops);
    if (!pattern) {
      ASSERT_EQ(pattern.error().code, Code::kInvalidArgument) << text;
      ASSERT_NE(pattern.error().message.find("column "), std::string::npos) << pattern.error().message;
    } else {
      ++accepted;
      (void)pattern->find(*view);
    }
  }
  EXPECT_GT(accepted, 10);
}

TEST(Pattern, GlobsAcceptStarsAndQuestionMarks) {
  for (const auto& [glob, text] : std::vector<std::pair<std::string, std::string>>{
           {"", ""}, {"*", ""}, {"a*c", "abbc"}, {"a*c", "acbc"}, {"*ab", "aab"}, {"?b?", "abc"}, {"a**b", "ab"}}) {
    EXPECT_TRUE(glob_matches(glob, text)) << glob << " " << text;
  }
  for (const auto& [glob, text] : std::vector<std::pair<std::string, std::string>>{
           {"", "a"}, {"?", ""}, {"a*c", "abcd"}, {"a", "ab"}, {"*ab", "abb"}, {"stage?", "stage10"}}) {
    EXPECT_FALSE(glob_matches(glob, text)) << glob << " " << text;
  }
}

}  // namespace
}  // namespace lanista::mutate
