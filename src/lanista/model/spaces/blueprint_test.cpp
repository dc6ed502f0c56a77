#include "lanista/model/spaces/blueprint.h"

#include <gtest/gtest.h>

#include <cmath>

#include "lanista/model/graph/op.h"
#include "support/model/mutate/test_models.h"

namespace lanista::mutate {
namespace {

using space::IntRange;
using space::Parameter;
using space::Value;
using testing::count_samples;
using List = std::vector<std::int64_t>;

Blueprint make(Chain layers, std::vector<ValueChoice> choices = {}) {
  auto made = Blueprint::make(graph::builtin_ops(), std::move(layers), std::move(choices));
  LANISTA_CHECK(made.ok(), made ? "" : made.error().text());
  return *std::move(made);
}

std::string refusal(Chain layers, std::vector<ValueChoice> choices = {}) {
  const auto made = Blueprint::make(graph::builtin_ops(), std::move(layers), std::move(choices));
  return made ? "fine" : made.error().text();
}

/// "act: choice(relu, gelu) if kind = a or b | depth = 2"
std::vector<std::string> shown(const Blueprint& blueprint) {
  std::vector<std::string> lines;
  for (const Parameter& parameter : blueprint.parameters()) {
    std::string line = parameter.name + ": " + space::domain_text(parameter.domain);
    for (std::size_t i = 0; i < parameter.when.size(); ++i) {
      line += (i == 0 ? " if " : " | ") + parameter.when[i].parameter + " =";
      for (const Value& value : parameter.when[i].values) line += " " + space::value_text(value);
    }
    lines.push_back(line);
  }
  return lines;
}
using Lines = std::vector<std::string>;

Block activation(const std::string& label) { return choice(label, {{"relu", {layer("relu")}}, {"skip", {}}}); }
Block linear(Setting out) { return layer("linear", {{"out", std::move(out)}}); }

TEST(Blueprint, TurnsChoicesIntoConditionalParameters) {
  const Blueprint blueprint = make({
      choice("kind", {{"deep", {repeat("depth", IntRange{0, 3}, {linear(pick("width", {16, 32})), activation("act")})}},
                      {"wide", {linear(formula("4 * width"))}},
                      {"none", {}}}),
      layer("dropout", {{"p", pick("p", space::FloatRange{0, 0.5})}}),
  });

  EXPECT_EQ(shown(blueprint), (Lines{"kind: choice(deep, wide, none)", "depth: int(0, 3) if kind = deep",
                                     "width: choice(16, 32) if depth = 1 2 3 | kind = wide",
                                     "act: choice(relu, skip) if depth = 1 2 3", "p: range(0, 0.5)"}));
  EXPECT_EQ(count_samples(blueprint), std::nullopt);
}

TEST(Blueprint, GivesEveryRoundItsOwnChoices) {
  Block stage = repeat("depth", IntRange{1, 3}, {linear(pick("w", {8, 16})), linear(formula("w * base"))});
  std::get<Repeat>(stage.what).own = true;
  const Blueprint blueprint = make({stage}, {pick("base", {1, 2})});

  EXPECT_EQ(shown(blueprint), (Lines{"depth: int(1, 3)", "w/1: choice(8, 16)", "base: choice(1, 2)",
                                     "w/2: choice(8, 16) if depth = 2 3", "w/3: choice(8, 16) if depth = 3"}));
  EXPECT_EQ(count_samples(blueprint), 2 * (2 + 4 + 8));
}

TEST(Blueprint, NestsRoundsWithOwnChoices) {
  Block inner = repeat(2, {linear(pick("w", {8, 16}))});
  std::get<Repeat>(inner.what).own = true;
  Block outer = repeat(2, {inner, linear(pick("v", {1, 2}))});
  std::get<Repeat>(outer.what).own = true;

  EXPECT_EQ(shown(make({outer})), (Lines{"w/1/1: choice(8, 16)", "w/1/2: choice(8, 16)", "v/1: choice(1, 2)",
                                         "w/2/1: choice(8, 16)", "w/2/2: choice(8, 16)", "v/2: choice(1, 2)"}));
}

TEST(Blueprint, MatchesClosedFormCounts) {
  const auto ops = [](int n) {
    std::vector<Option> options;
    for (int i = 0; i < n; ++i) options.push_back({"op" + std::to_string(i), {layer("relu")}});
    return options;
  };
  // Five choices on each of six edges: 5^6 of NAS-Bench-201.
  Chain edges;
  for (int i = 0; i < 6; ++i) edges.push_back(choice("edge" + std::to_string(i), ops(5)));
  EXPECT_EQ(count_samples(make(edges)), 15'625);

  // A cell as in DARTS: node i reads two different ones of i + 1 values, each through one of seven operators.
  Cell darts{"normal", 4, 2, ops(7), {}, {"a", "b"}, true};
  const Chain names{named("a", group({})), named("b", group({}))};
  Chain layers = names;
  layers.push_back({darts});
  EXPECT_EQ(count_samples(make(layers)), 1 * 3 * 6 * 10 * std::pow(7, 8));

  // A cell as in NASNet: both inputs may be the same value.
  layers = names;
  layers.push_back({Cell{"normal", 5, 2, ops(13), {}, {"a", "b"}}});
  double nasnet = 1;
  for (int i = 0; i < 5; ++i) nasnet *= std::pow((2 + i) * 13, 2);
  EXPECT_DOUBLE_EQ(*count_samples(make(layers)), nasnet);

  // Any subset of four values, with one that is always read.
  InputChoice any{"skip", {"a", "b"}, 0, 2, Join::kSum, {"b"}};
  layers = names;
  layers.push_back({any});
  EXPECT_EQ(shown(make(layers)), (Lines{"skip/a: choice(false, true)", "skip/b: choice(false, true)"}));
}

TEST(Blueprint, CountsTwentyRepeatsAtOnce) {
  Chain layers;
  for (int i = 0; i < 20; ++i) {
    const std::string label = "s" + std::to_string(i);
    Block stage = repeat(label, IntRange{1, 4}, {linear(pick("w" + label, {8, 16, 32})), activation("a" + label)});
    std::get<Repeat>(stage.what).own = true;
    layers.push_back(stage);
  }
  EXPECT_DOUBLE_EQ(*count_samples(make(layers)), std::pow(6 + 36 + 216 + 1296, 20));
}

TEST(Blueprint, LimitsConditionsToReachableValues) {
  const Blueprint blueprint = make({when("k > 3", {activation("big")}, {activation("small")})}, {pick("k", {1, 3, 5})});
  EXPECT_EQ(shown(blueprint),
            (Lines{"k: choice(1, 3, 5)", "big: choice(relu, skip) if k = 5", "small: choice(relu, skip) if k = 1 3"}));
}

TEST(Blueprint, RejectsInconsistentBlueprints) {
  EXPECT_EQ(refusal({activation("act"), choice("act", {{"gelu", {layer("gelu")}}})}),
            "layers[1].choice act: 'act' is choice(gelu) here, but choice(relu, skip) at layers[0].choice act; equal "
            "labels are one choice");
  EXPECT_EQ(refusal({linear(formula("2 * widht"))}, {pick("width", {1, 2})}),
            "layers[0].linear: \"2 * widht\" reads 'widht', which is no choice (known: width, in, outputs)");
  EXPECT_EQ(refusal({linear(3)}, {pick("width", {1, 2})}),
            "choices.width: the choice is declared, but no formula reads it");
  EXPECT_EQ(refusal({layer("lienar", {{"out", 3}})}),
            "layers[0].lienar: there is no operator 'lienar'; did you mean 'linear'?");
  EXPECT_EQ(refusal({layer("linear", {{"units", 3}})}),
            "layers[0].linear: linear has no 'units' to set (it has: bias, out)");
  EXPECT_EQ(refusal({layer("linear")}).substr(0, 37), "layers[0].linear: linear needs 'out':");
  EXPECT_EQ(refusal({linear("wide")}), "layers[0].linear: out is \"wide\", which linear cannot take");
  EXPECT_EQ(refusal({layer("linear", {{"out", std::vector<std::int64_t>{16, 32}}})}),
            "layers[0].linear: out is [16,32], which linear cannot take; to choose one of them, write out: "
            "{label: out, of: [16,32]}");
  EXPECT_EQ(refusal({linear(formula("2 *"))}),
            "layers[0].linear: formula \"2 *\", column 4: the formula ends too early");
  EXPECT_EQ(refusal({inputs("x", {"a"})}), "layers[0].inputs x: there is no value 'a' here (known: none)");
  EXPECT_EQ(refusal({choice("c", {{"x", {named("a", layer("relu"))}}}), inputs("x", {"a"})}),
            "layers[1].inputs x: there is no value 'a' here (known: none)");
  EXPECT_EQ(refusal({repeat("d", IntRange{0, 2}, {named("a", layer("relu"))}), inputs("x", {"a"})}),
            "layers[1].inputs x: there is no value 'a' here (known: none)");
  EXPECT_EQ(refusal({named("a", layer("relu")), inputs("x", {"a"}, 2)}),
            "layers[1].inputs x: cannot choose 2 to 2 of 1 values");
  EXPECT_EQ(refusal({repeat("d", space::FloatRange{0, 2}, {})}),
            "layers[0].repeat d: the depth must be whole numbers in 0..1000, not range(0, 2)");
  EXPECT_EQ(refusal({repeat("d", IntRange{0, 2000}, {})}),
            "layers[0].repeat d: the depth must be whole numbers in 0..1000, not int(0, 2000)");
  EXPECT_EQ(refusal({choice("a b", {{"x", {}}})}),
            "layers[0].choice a b: the label 'a b' must be a word of letters, digits, and _ - . /");
  EXPECT_EQ(refusal({choice("in", {{"x", {}}})}), "layers[0].choice in: 'in' cannot be a label: it has a meaning");
  EXPECT_EQ(refusal({choice("c", {{"x", {}}, {"x", {}}})}), "layers[0].choice c: there are two options 'x'");
  EXPECT_EQ(refusal({choice("c", {})}), "layers[0].choice c: a choice needs options");
}

TEST(Blueprint, RejectsTooLargeBlueprints) {
  Chain deep{layer("relu")};
  for (int i = 0; i < 100; ++i) deep = {group(std::move(deep))};
  EXPECT_NE(refusal(deep).find("blocks are nested more than 64 deep"), std::string::npos);

  Chain rounds{layer("relu")};
  for (int i = 0; i < 4; ++i) rounds = {repeat(1000, std::move(rounds))};
  EXPECT_NE(refusal(rounds).find("more node numbers than there are"), std::string::npos);

  std::vector<std::string> names;
  Chain many;
  for (int i = 0; i < 40; ++i) {
    names.push_back("v" + std::to_string(i));
    many.push_back(named(names.back(), layer("relu")));
  }
  many.push_back(inputs("x", names, 20));
  EXPECT_NE(refusal(many).find("more than 512 ways to choose"), std::string::npos);

  Chain own{choice("c", {{"x", {}}, {"y", {}}})};
  for (int i = 0; i < 3; ++i) {
    own = {repeat(1000, std::move(own))};
    std::get<Repeat>(own[0].what).own = true;
  }
  EXPECT_NE(refusal(own).find("blocks in all rounds"), std::string::npos);
}

}  // namespace
}  // namespace lanista::mutate
