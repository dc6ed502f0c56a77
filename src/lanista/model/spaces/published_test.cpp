#include "lanista/model/spaces/published.h"

#include <map>
#include <set>

#include <gtest/gtest.h>

#include "lanista/model/graph/infer.h"
#include "lanista/model/graph/text.h"
#include "lanista/model/spaces/network_blocks.h"
#include "support/model/spaces/test_spaces.h"

namespace lanista::mutate {
namespace {

using nlohmann::json;
using testing::made;
using testing::search_space;

ModelInterface digits() { return model_interface(graph::Shape{{1, 8, 8}}, 10); }
ModelInterface ends_for(std::string_view name) { return testing::ends_for(name, {{1, 8, 8}}); }

TEST(PublishedSpaces, GiveModelsThatVerify) {
  const auto ops = graph::builtin_ops();
  std::map<std::string, int> repairs;
  for (const PublishedSpace& published : published_spaces()) {
    const ModelInterface between = ends_for(published.name);
    const auto blueprint = made(published.name, between);
    const auto space = search_space(blueprint);
    std::set<Digest> models;
    int valid = 0;
    for (std::uint64_t i = 0; i < 200; ++i) {
      space::RandomChooser choose(Rng(i).split(published.name));
      const auto model = blueprint.expand(space.sample(choose), ops, between);
      if (!model.ok()) {
        // Random graphs often have no way to the output, or too many edges; all other samples are models.
        ASSERT_EQ(model.error().code, Code::kNotApplicable) << published.name << ": " << model.error().text();
        ASSERT_EQ(published.name, "nasbench101") << model.error().text();
        continue;
      }
      ++valid;
      ASSERT_TRUE(graph::verify(*model, ops).ok())
          << published.name << " " << graph::verify(*model, ops).error().text();
      models.insert(graph::canonical_hash(*model, ops));
      for (const auto& node : model->nodes()) repairs[published.name] += node->label == "repair" ? 1 : 0;
    }
    EXPECT_GE(valid, published.name == "nasbench101" ? 50 : 200) << published.name;
    EXPECT_GE(models.size(), 40u) << published.name;
  }
  // Shapes fit as they are written, but for MnasNet's pooled shortcuts, which change their width on the way.
  for (const auto& [name, count] : repairs) EXPECT_EQ(count > 0, name == "mnasnet") << name << ": " << count;
}

TEST(PublishedSpaces, ExpandTheSameWayTwice) {
  const auto ops = graph::builtin_ops();
  for (const PublishedSpace& published : published_spaces()) {
    const ModelInterface between = ends_for(published.name);
    const auto blueprint = made(published.name, between);
    const auto text = [](const Result<graph::Graph>& model) {
      return model.ok() ? graph::to_text(*model) : model.error().text();
    };
    int models = 0;
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      space::RandomChooser choose{Rng(seed)};
      const auto sample = search_space(blueprint).sample(choose);

      const auto once = blueprint.expand(sample, ops, between);
      const auto again = made(published.name, between).expand(sample, ops, between);

      EXPECT_EQ(once.ok(), again.ok()) << published.name;
      EXPECT_EQ(text(once), text(again)) << published.name;
      models += once.ok() ? 1 : 0;
    }
    EXPECT_GT(models, 0) << published.name;
  }
}

TEST(PublishedSpaces, GiveEveryDistinctCellOfNasBench201Once) {
  const auto ops = graph::builtin_ops();
  const auto every = made("nasbench201", digits(), {{"stages", 1}, {"width", 2}});
  const auto distinct = made("nasbench201", digits(), {{"stages", 1}, {"width", 2}, {"distinct", true}});
  const auto space = search_space(distinct);
  std::set<Digest> models;
  for (std::uint64_t i = 0; i < 15'625; ++i) {
    space::GridChooser choose(i, 1);
    const auto sample = space.sample(choose);
    const auto model = distinct.expand(sample, ops, digits());
    if (!model.ok()) {
      ASSERT_EQ(model.error().code, Code::kNotApplicable) << model.error().text();
      continue;
    }
    models.insert(graph::canonical_hash(*model, ops));
    if (i % 100 == 0) {
      EXPECT_EQ(models.count(graph::canonical_hash(*every.expand(sample, ops, digits()), ops)), 1U);
    }
  }
  EXPECT_EQ(models.size(), 6'466U);
}

std::int64_t parameters_of(const Blueprint& blueprint, const space::Sample& sample, const ModelInterface& between) {
  const auto ops = graph::builtin_ops();
  const auto model = blueprint.expand(sample, ops, between);
  EXPECT_TRUE(model.ok()) << model.error().text();
  const auto cost = graph::model_cost(*model, ops);
  EXPECT_TRUE(cost.ok()) << cost.error().text();
  return cost->parameters;
}

// The tables' columns: params and FLOPs of the smallest and the largest cell, on CIFAR-10 and CIFAR-100.
TEST(PublishedSpaces, Nasbench201HasThePublishedParameters) {
  struct Row {
    const char* op;
    std::int64_t classes, parameters;
  };
  for (const Row& row : {Row{"nor_conv_3x3", 10, 1'531'546}, Row{"none", 10, 73'306}, Row{"skip_connect", 10, 73'306},
                         Row{"nor_conv_3x3", 100, 1'537'396}, Row{"none", 100, 79'156}}) {
    const ModelInterface cifar = model_interface(graph::Shape{{3, 32, 32}}, row.classes);
    const auto blueprint = made("nasbench201", cifar, {{"preset", "cifar10"}});
    space::Sample sample;
    for (const space::Parameter& parameter : blueprint.parameters()) sample[parameter.name] = std::string(row.op);

    EXPECT_EQ(parameters_of(blueprint, sample, cifar), row.parameters) << row.op << " " << row.classes;
  }
}

TEST(PublishedSpaces, Nasbench101HasThePublishedParameters) {
  const ModelInterface cifar = model_interface(graph::Shape{{3, 32, 32}}, 10);
  const auto blueprint = made("nasbench101", cifar, {{"preset", "cifar10"}});
  space::Sample sample;
  for (const space::Parameter& parameter : blueprint.parameters()) {
    if (parameter.name.starts_with("edge")) sample[parameter.name] = false;
  }
  // The Inception-like cell that the authors publish as their example.
  for (const char* edge : {"0_1", "0_2", "0_3", "0_5", "1_6", "2_6", "3_4", "4_6", "5_6"}) {
    sample[std::string("edge_") + edge] = true;
  }
  const char* ops[] = {"conv1x1", "conv3x3", "conv3x3", "conv3x3", "maxpool3x3"};
  for (int v = 1; v <= 5; ++v) sample["op_" + std::to_string(v)] = std::string(ops[v - 1]);

  EXPECT_EQ(parameters_of(blueprint, sample, cifar), 2'694'282);
}

// Even and odd sizes end alike, and the second half sees the rows and columns that the first does not.
TEST(PublishedSpaces, ReduceWithoutLosingPixels) {
  const auto ops = graph::builtin_ops();
  const auto blueprint = Blueprint::make(ops, spaces::chained({spaces::factorised_reduction(6), spaces::classifier()}));
  ASSERT_TRUE(blueprint.ok()) << blueprint.error().text();
  for (const std::int64_t size : {7, 8}) {
    const ModelInterface between = model_interface(graph::Shape{{2, size, size}}, 3);
    const auto model = blueprint->expand({}, ops, between);
    ASSERT_TRUE(model.ok()) << model.error().text();
    const auto types = graph::infer_shapes(*model, ops);
    EXPECT_EQ(types->outputs(model->nodes_of("concat").front()).front().shape.text(), "[N, 6, 4, 4]");
    const std::string text = graph::to_text(*model);
    EXPECT_NE(text.find("%1 = conv2d(%0, bias=false, kernel=[1], out=3, stride=[2])\n"
                        "%2 = slice(%0, axis=2, start=1)\n"
                        "%3 = slice(%2, axis=3, start=1)\n"
                        "%4 = conv2d(%3, bias=false, kernel=[1], out=3, padding=[0,1,0,1], stride=[2])\n"),
              std::string::npos)
        << text;
  }
}

TEST(PublishedSpaces, ReportUnsuitableData) {
  const auto ops = graph::builtin_ops();
  const auto error = [&](std::string_view name, const json& options, const ModelInterface& between) {
    const auto blueprint = published_space(name, options, ops, between);
    EXPECT_FALSE(blueprint.ok());
    return blueprint.ok() ? Error{} : blueprint.error();
  };
  const json none = json::object();

  EXPECT_EQ(error("nasbench210", none, digits()).code, Code::kNotFound);
  EXPECT_NE(error("nasbench210", none, digits()).message.find("did you mean 'nasbench201'?"), std::string::npos);
  EXPECT_EQ(error("darts", {{"width", 0}}, digits()).where, "width");
  EXPECT_EQ(error("darts", {{"preset", "imagenet22k"}}, digits()).message,
            "unknown value 'imagenet22k'; did you mean 'imagenet'? (allowed: none, cifar10, imagenet)");
  EXPECT_EQ(error("spos", {{"widths", {16, 24, 32}}}, digits()).message, "there are 3 widths for 2 stages");
  EXPECT_EQ(error("spos", {{"widths", {16, 15}}}, digits()).where, "widths");
  EXPECT_EQ(error("mnasnet", {{"strides", {1}}}, digits()).message, "there are 1 strides for 2 stages");
  EXPECT_EQ(error("proxylessnas", {{"depths", {1, 1, 1}}}, digits()).message, "there are 3 depths for 2 stages");
  EXPECT_NE(error("nasnet", {{"normal_gives", "first+9"}}, digits()).message.find("cannot give '9'"),
            std::string::npos);
  EXPECT_EQ(error("darts", {{"stages", 5}}, digits()).message,
            "the space 'darts' needs images [C, H, W] of at least 32x32, but the samples are [1,8,8]");
  EXPECT_EQ(error("wide_deep", none, digits()).message,
            "the space 'wide_deep' needs rows of a table, but the samples are [1,8,8]");
  EXPECT_EQ(error("transformer", none, digits()).message,
            "the space 'transformer' needs tokens [T] or sequences [T, features], but the samples are [1,8,8]");
  EXPECT_EQ(error("transformer", {{"width", 12}}, ends_for("transformer")).message,
            "the space 'transformer' needs a width that is a multiple of 8, for up to 4 heads, not 12");
}

TEST(PublishedSpaces, PreferOptionsOverPreset) {
  for (const PublishedSpace& published : published_spaces()) {
    for (const Preset& preset : published.presets) {
      const auto plain = resolve_space_options(published, {{"preset", preset.name}});
      const auto dropped = resolve_space_options(published, {{"preset", preset.name}, {"width", 10}});
      ASSERT_TRUE(plain.ok() && dropped.ok()) << published.name << " " << preset.name;
      for (const auto& [name, value] : preset.options.items()) EXPECT_EQ(plain->at(name), value) << name;
      EXPECT_EQ(dropped->at("width"), 10);
      EXPECT_FALSE(plain->contains("preset"));
    }
  }
}

TEST(PublishedSpaces, AreSortedAndNameTheirSource) {
  std::string last;
  for (const PublishedSpace& published : published_spaces()) {
    EXPECT_LT(last, published.name);
    EXPECT_FALSE(published.help.empty());
    EXPECT_FALSE(published.source.empty());
    for (const OptionSpec& option : published.options) EXPECT_FALSE(option.default_value.is_null()) << option.name;
    last = published.name;
  }
}

}  // namespace
}  // namespace lanista::mutate
