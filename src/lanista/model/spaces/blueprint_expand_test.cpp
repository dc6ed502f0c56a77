#include <gtest/gtest.h>

#include "lanista/model/graph/infer.h"
#include "lanista/model/graph/text.h"
#include "lanista/model/mutate/model_view.h"
#include "lanista/model/space/chooser.h"
#include "lanista/model/spaces/blueprint.h"

namespace lanista::mutate {
namespace {

using space::IntRange;
using space::Sample;
using space::Value;
using List = std::vector<std::int64_t>;

const graph::OpTable& ops() {
  static const graph::OpTable table = graph::builtin_ops();
  return table;
}

Blueprint make(Chain layers, std::vector<ValueChoice> choices = {}) {
  auto made = Blueprint::make(ops(), std::move(layers), std::move(choices));
  LANISTA_CHECK(made.ok(), made ? "" : made.error().text());
  return *std::move(made);
}

graph::Graph expand(const Blueprint& blueprint, const Sample& sample, const ModelInterface& ends) {
  auto graph = blueprint.expand(sample, ops(), ends);
  LANISTA_CHECK(graph.ok(), graph ? "" : graph.error().text());
  return *std::move(graph);
}
std::string text(const Blueprint& blueprint, const Sample& sample, const ModelInterface& ends) {
  const auto graph = blueprint.expand(sample, ops(), ends);
  return graph ? graph::to_text(*graph) : graph.error().text();
}

const ModelInterface kFlat = model_interface({{4}}, 3);
const ModelInterface kImage = model_interface({{1, 8, 8}}, 3);
Value word(const char* text) { return Value(std::string(text)); }
Value number(std::int64_t n) { return Value(n); }

Block linear(Setting out) { return layer("linear", {{"out", std::move(out)}}); }
Block conv(Setting out, Setting kernel = 3) {
  return layer("conv2d", {{"out", std::move(out)}, {"kernel", std::move(kernel)}, {"padding", "same"}});
}

TEST(Expand, WritesTheModelOfASample) {
  const Blueprint blueprint = make(
      {
          linear(formula("2 * width")),
          choice("act", {{"relu", {layer("relu")}}, {"gelu", {layer("gelu")}}, {"skip", {}}}),
          repeat("depth", IntRange{0, 2}, {linear(formula("width if in > 8 else 5"))}),
          linear(formula("outputs")),
      },
      {pick("width", {4, 8})});

  EXPECT_EQ(text(blueprint, {{"width", number(8)}, {"act", word("gelu")}, {"depth", number(2)}}, kFlat),
            "%0 = input(shape=[4])\n"
            "%1 = linear(%0, out=16)\n"
            "%3 = gelu(%1)\n"
            "%4 = linear(%3, out=8)\n"
            "%5 = linear(%4, out=5)\n"
            "%6 = linear(%5, out=3)\n"
            "%7 = output(%6)\n");
  EXPECT_EQ(text(blueprint, {{"width", number(4)}, {"act", word("skip")}, {"depth", number(0)}}, kFlat),
            "%0 = input(shape=[4])\n"
            "%1 = linear(%0, out=8)\n"
            "%6 = linear(%1, out=3)\n"
            "%7 = output(%6)\n");
}

TEST(Expand, RepairsJoinsUnderIdsOfTheirOwn) {
  const Blueprint blueprint = make({
      named("a", conv(4)),
      named("b", from({"a"}, layer("max_pool2d"))),
      parallel({{conv(pick("out", {4, 6}))}, {from({"a"}, group({}))}}),
      layer("flatten"),
      linear(formula("classes")),
  });

  EXPECT_EQ(text(blueprint, {{"out", number(6)}}, kImage),
            "%0 = input(shape=[1,8,8])\n"
            "%1 = conv2d(%0, out=4, padding=[1])\n"
            "%2 = max_pool2d(%1)\n"
            "%3 = conv2d(%2, out=6, padding=[1])\n"
            "%7 = adaptive_avg_pool2d(%1, out=[4,4]) \"repair\"\n"
            "%8 = conv2d(%7, kernel=[1], out=6) \"repair\"\n"
            "%10 = add(%3, %8)\n"
            "%14 = flatten(%10)\n"
            "%15 = linear(%14, out=3)\n"
            "%16 = output(%15)\n");
}

TEST(Expand, RemovesUnreadValues) {
  const Blueprint blueprint = make({named("a", linear(4)), named("b", from({"a"}, linear(5))),
                                    named("c", from({"a"}, linear(6))), inputs("which", {"b", "c"}), linear(3)});

  const graph::Graph first = expand(blueprint, {{"which", word("b")}}, kFlat);
  const graph::Graph second = expand(blueprint, {{"which", word("c")}}, kFlat);

  EXPECT_EQ(first.size(), 5U);
  EXPECT_TRUE(first.contains({2}) && !first.contains({3}));
  EXPECT_TRUE(second.contains({3}) && !second.contains({2}));
  EXPECT_EQ(first.next_id(), second.next_id());
}

TEST(Expand, JoinsInEveryWay) {
  const auto joined = [](Join how) {
    const Blueprint blueprint = make({parallel({{linear(2)}, {linear(4)}, {}}, how), linear(3)});
    return graph::to_text(expand(blueprint, {}, kFlat));
  };
  EXPECT_NE(joined(Join::kSum).find("= add(%1, "), std::string::npos);
  EXPECT_NE(joined(Join::kMul).find("= mul(%1, "), std::string::npos);
  EXPECT_NE(joined(Join::kConcat).find("= concat(%1, %2, %0)"), std::string::npos);
  const std::string mean = joined(Join::kMean);
  EXPECT_NE(mean.find("shape=[1,2])"), std::string::npos) << mean;
  EXPECT_NE(mean.find("axes=[1])"), std::string::npos) << mean;
}

TEST(Expand, CarriesNamesFromRoundToRound) {
  const Blueprint blueprint =
      make({named("h0", linear(4)), named("h1", linear(4)),
            repeat(3, {named("h2", {Layer{"add", {}, {}}, "", {"h0", "h1"}}), alias("h0", "h1"), alias("h1", "h2")}),
            linear(3)});

  EXPECT_EQ(graph::to_text(expand(blueprint, {}, kFlat)),
            "%0 = input(shape=[4])\n"
            "%1 = linear(%0, out=4)\n"
            "%2 = linear(%1, out=4)\n"
            "%9 = add(%1, %2)\n"
            "%19 = add(%2, %9)\n"
            "%29 = add(%9, %19)\n"
            "%33 = linear(%29, out=3)\n"
            "%34 = output(%33)\n");
}

TEST(Expand, BuildsCells) {
  const Cell cell{"cell", 2, 2, {{"lin", {linear(formula("8 if outer else 4"))}}, {"skip", {}}}, {}, {}, false, true};
  const Blueprint blueprint = make({{cell}, linear(3)});
  Sample sample{{"cell/1.1.from", word("in")}, {"cell/1.1.op", word("lin")}, {"cell/1.2.from", word("in")},
                {"cell/1.2.op", word("lin")},  {"cell/2.1.from", word("1")}, {"cell/2.1.op", word("lin")},
                {"cell/2.2.from", word("1")},  {"cell/2.2.op", word("lin")}};

  const graph::Graph model = expand(blueprint, sample, kFlat);

  // Node 2 reads node 1, so node 2 alone is unread and nothing is joined.
  EXPECT_TRUE(model.nodes_of("concat").empty());
  EXPECT_EQ(model.nodes_of("add").size(), 2U);
  sample["cell/2.1.from"] = sample["cell/2.2.from"] = word("in");
  EXPECT_EQ(expand(blueprint, sample, kFlat).nodes_of("concat").size(), 1U);
}

TEST(Expand, JoinsOutputsNamedByCell) {
  Cell cell{"cell", 2, 1, {{"lin", {linear(4)}}}, {}, {"a", "b"}, false, true};
  const Chain inputs{named("a", linear(5)), named("b", linear(6))};
  // Node 1 reads a, node 2 reads node 1; b and node 2 are unread.
  const Sample sample{{"cell/1.1.from", word("a")},
                      {"cell/1.1.op", word("lin")},
                      {"cell/2.1.from", word("1")},
                      {"cell/2.1.op", word("lin")}};
  const auto joined = [&] {
    Chain layers = inputs;
    layers.push_back({cell});
    layers.push_back(linear(3));
    std::vector<std::string> ops;
    const graph::Graph model = expand(make(layers), sample, kFlat);
    const auto joins = model.nodes_of("concat");
    for (const graph::NodeId join : joins) {
      for (const graph::Port& port : model.node(join).inputs) {
        ops.push_back(graph::attr_text(*model.node(port.node).attrs.find("out")));
      }
    }
    return ops;
  };
  using Widths = std::vector<std::string>;

  EXPECT_EQ(joined(), Widths{});  // node 2 alone
  cell.joins_unread_inputs = true;
  EXPECT_EQ(joined(), (Widths{"6", "4"}));  // b as it is
  cell.carry = {linear(formula("in + 10"))};
  EXPECT_EQ(joined(), (Widths{"16", "4"}));
  cell.gives = {"1", "a", "2"};
  EXPECT_EQ(joined(), (Widths{"15", "4", "4"}));  // in the order of the cell
  cell.gives = {"1", "1"};
  Chain layers = inputs;
  layers.push_back({cell});
  EXPECT_EQ(Blueprint::make(ops(), layers).error().code, Code::kInvalidArgument);
  cell.gives = {"3"};
  layers.back() = {cell};
  EXPECT_EQ(Blueprint::make(ops(), layers).error().where, "layers[2].cell cell");
}

TEST(Expand, CallsFunctionOfCustomBlock) {
  Custom custom;
  custom.name = "sum";
  custom.parameters = {{"parts", IntRange{0, 3}, {}}};
  custom.build = [](const Sample& sample) -> Result<Chain> {
    const auto parts = std::get<std::int64_t>(sample.at("parts"));
    if (parts == 0) return Error{Code::kNotApplicable, "no parts", ""};
    Chain chain;
    for (std::int64_t i = 0; i < parts; ++i) chain.push_back(layer("relu"));
    chain.back().slot = 3;
    return chain;
  };
  custom.slots = 4;
  custom.ids_per_slot = 10;
  const Blueprint blueprint = make({{custom}, linear(3)});

  EXPECT_EQ(text(blueprint, {{"parts", number(0)}}, kFlat), "layers[0].custom sum: no parts");
  EXPECT_EQ(text(blueprint, {{"parts", number(2)}}, kFlat),
            "%0 = input(shape=[4])\n"
            "%1 = relu(%0)\n"
            "%31 = relu(%1)\n"
            "%41 = linear(%31, out=3)\n"
            "%42 = output(%41)\n");
}

/// Three nested repeats.
Chain nested(const space::Domain& depth, const Chain& inside) {
  return {repeat("a", depth, {repeat("b", depth, {repeat("c", depth, inside)})})};
}

TEST(Expand, CountsBeforeItBuilds) {
  const auto thousand = Blueprint::make(ops(), nested(IntRange{1000, 1000}, {layer("relu")}));
  ASSERT_FALSE(thousand.ok());
  EXPECT_EQ(thousand.error().text(), "layers: the model would have more than 99998 nodes");
  const auto groups = Blueprint::make(ops(), nested(IntRange{1000, 1000}, {group({})}));
  ASSERT_FALSE(groups.ok());
  EXPECT_EQ(groups.error().text(), "layers: more than 1000000 blocks in all rounds");

  // A table in which shape inference fails, so that any attempt to build a model is an error.
  graph::OpTable speechless;
  for (const std::string& name : ops().names()) {
    graph::OpDef def = *ops().find(name);
    def.infer = [](const graph::OpArgs&) -> Result<std::vector<graph::ValueType>> {
      return Error{Code::kInternal, "something is built", ""};
    };
    ASSERT_TRUE(speechless.add(std::move(def)).ok());
  }
  Block tail = linear(formula("outputs"));
  Chain layers = nested(IntRange{1, 1000}, {choice("act", {{"relu", {layer("relu")}}, {"none", {}}})});
  layers.push_back(tail);
  const Blueprint open = make(layers);
  const auto sample = [](std::int64_t rounds, const char* act) {
    return Sample{{"a", number(rounds)}, {"b", number(rounds)}, {"c", number(rounds)}, {"act", word(act)}};
  };
  EXPECT_EQ(open.expand(sample(1000, "relu"), speechless, kFlat).error().message,
            "the model would have more than 99998 nodes");
  EXPECT_EQ(open.expand(sample(47, "relu"), speechless, kFlat).error().message,
            "the model would have more than 99998 nodes");
  EXPECT_EQ(open.expand(sample(1000, "none"), speechless, kFlat).error().message,
            "more than 1000000 blocks in all rounds");
  EXPECT_EQ(expand(open, sample(3, "relu"), kFlat).size(), 3U * 3 * 3 + 3);
  EXPECT_EQ(expand(open, sample(20, "none"), kFlat).size(), 3U);

  Chain empty = nested(IntRange{20, 20}, {repeat("", IntRange{1000, 1000}, {})});
  empty.push_back(tail);
  EXPECT_EQ(expand(make(empty), {}, kFlat).size(), 3U);
}

TEST(Expand, CountsRoundsWithChoicesOfTheirOwn) {
  Block own = repeat("own", IntRange{1, 3}, {choice("act", {{"relu", {layer("relu")}}, {"none", {}}})});
  std::get<Repeat>(own.what).own = true;
  const Blueprint blueprint =
      make({own, repeat("", IntRange{1000, 1000}, {repeat("", IntRange{34, 34}, {own})}), linear(formula("outputs"))});
  const auto sample = [](const char* others) {
    return Sample{{"own", number(3)}, {"act/1", word("relu")}, {"act/2", word(others)}, {"act/3", word(others)}};
  };
  // 34,001 times three relus are too many; 34,001 relus are not.
  const auto three = blueprint.expand(sample("relu"), ops(), kFlat);
  ASSERT_FALSE(three.ok());
  EXPECT_EQ(three.error().message, "the model would have more than 99998 nodes");
  const auto one = blueprint.expand(sample("none"), ops(), kFlat);
  ASSERT_TRUE(one.ok()) << one.error().text();
  EXPECT_EQ(one->size(), 34'001U + 3);
}

TEST(Expand, ReportsWhySampleIsInvalid) {
  const auto why = [](Chain layers, const Sample& sample = {}) {
    return text(make(std::move(layers)), sample, kImage);
  };
  EXPECT_EQ(why({layer("flatten"), linear(5)}), "the model gives [N, 5], not [N, 3]");
  EXPECT_EQ(why({conv(4, 2)}), "layers[0].conv2d: padding same: an even window cannot keep the size");
  EXPECT_EQ(why({linear(formula("in / 2"))}), "layers[0].linear: 'out' would be 0.5; it must be a whole number");
  EXPECT_EQ(why({linear(formula("in - 8"))}).substr(0, 25), "layers[0].linear: linear:");
  EXPECT_EQ(why({repeat(4, {layer("max_pool2d")})}).substr(0, 32), "layers[0].repeat[0].max_pool2d: ");
  EXPECT_EQ(why({choice("c", {{"x", {}}})}), "layers[0].choice c: the sample has no value for 'c'");
  EXPECT_EQ(why({parallel({{}, {layer("flatten")}})}).substr(0, 31), "layers[0].parallel: input 1: [N");
}

/// A random tree with every kind of block, over flat values.
Chain random_chain(Rng& rng, int depth, int& labels, std::vector<std::string> names) {
  Chain chain;
  const auto nested = [&] { return random_chain(rng, depth - 1, labels, names); };
  const auto fresh = [&] { return "c" + std::to_string(++labels); };
  for (auto n = rng.between(0, 3); n > 0; --n) {
    Block block = layer("relu");
    switch (depth == 0 ? rng.below(3) : rng.below(8)) {
      case 0:
        block = linear(pick(fresh(), {2, 4, 6}));
        break;
      case 1:
        block = linear(formula("in + 1"));
        break;
      case 2:
        if (!names.empty()) block = inputs(fresh(), names);
        break;
      case 3:
        block = choice(fresh(), {{"a", nested()}, {"b", nested()}, {"c", {}}});
        break;
      case 4:
        block = repeat(fresh(), IntRange{0, 3}, nested());
        std::get<Repeat>(block.what).own = rng.bernoulli(0.5);
        break;
      case 5:
        block = parallel({nested(), nested()}, rng.bernoulli(0.5) ? Join::kSum : Join::kConcat);
        break;
      case 6:
        block = when("in > 4", nested(), nested());
        break;
      case 7:
        block = {Cell{fresh(), 2, 2, {{"x", {linear(3)}}, {"y", {}}}, {}, {}, rng.bernoulli(0.0), rng.bernoulli(0.5)}};
        break;
    }
    if (rng.bernoulli(0.4)) {
      block.name = "v" + std::to_string(++labels);
      names.push_back(block.name);
    }
    chain.push_back(std::move(block));
  }
  return chain;
}

TEST(Expand, ExpandsRandomBlueprintsWithStableIds) {
  int models = 0;
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    Rng rng = Rng(11).split(seed);
    int labels = 0;
    Chain layers = random_chain(rng, 3, labels, {});
    layers.push_back(linear(3));
    const Blueprint blueprint = make(std::move(layers));
    space::SearchSpace space;
    for (const auto& parameter : blueprint.parameters()) ASSERT_TRUE(space.add(parameter).ok());

    std::map<graph::NodeId, std::string> op_of;
    for (std::uint64_t i = 0; i < 6; ++i) {
      space::RandomChooser choose(rng.split(i));
      const Sample sample = space.sample(choose);
      const auto model = blueprint.expand(sample, ops(), kFlat);
      ASSERT_TRUE(model.ok()) << "seed " << seed << ": " << model.error().text();
      EXPECT_TRUE(graph::verify(*model, ops()).ok());
      EXPECT_EQ(model->next_id(), blueprint.end());
      EXPECT_TRUE(*model == *blueprint.expand(sample, ops(), kFlat));
      ++models;
      for (const auto& node : model->nodes()) {
        if (is_repair(*node)) continue;  // the kind of repair depends on the shapes
        const auto [at, is_new] = op_of.emplace(node->id, node->op);
        EXPECT_EQ(at->second, node->op) << "seed " << seed;
      }
    }
  }
  EXPECT_EQ(models, 720);
}

}  // namespace
}  // namespace lanista::mutate
