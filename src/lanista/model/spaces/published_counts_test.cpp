#include <cmath>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "lanista/model/graph/infer.h"
#include "lanista/model/space/chooser.h"
#include "lanista/model/spaces/nasbench101.h"
#include "lanista/model/spaces/nasbench201.h"
#include "support/model/mutate/test_models.h"
#include "support/model/spaces/nasbench101_cells.h"
#include "support/model/spaces/test_spaces.h"

// How many models the published spaces hold: as encodings, which papers count by closed forms, and as networks, by
// making the models and comparing their graph hashes.
namespace lanista::mutate {
namespace {

using nlohmann::json;
using testing::count_samples;
using testing::made;
using testing::search_space;

double power(double base, int exponent) { return std::pow(base, exponent); }

ModelInterface ends_for(std::string_view name) { return testing::ends_for(name, {{3, 64, 64}}); }

TEST(PublishedCounts, MatchPublishedEncodings) {
  struct Count {
    const char* name;
    json options;
    double samples;
  };
  const double mnas = 4 * 2 * 2 * 3 * 3 * 4;  // with two expansions four kinds of convolution
  const Count counts[] = {
      // Distinct pairs of inputs, seven operators: 180 x 49^4 cells of a kind (Liu et al., appendix A.2).
      {"darts", {{"preset", "cifar10"}}, power(1 * 3 * 6 * 10 * power(49, 4), 2)},
      {"darts", {{"preset", "imagenet"}}, power(1 * 3 * 6 * 10 * power(49, 4), 2)},
      {"darts", {{"stages", 1}}, 1'037'664'180},
      // 6^L 2^(L(L-1)/2): the paper's twelve layers, the final network's twenty-four, and the default six.
      {"enas_macro", {{"preset", "cifar10"}, {"layers", 12}}, power(6, 12) * power(2, 66)},
      {"enas_macro", {{"preset", "cifar10"}}, power(6, 24) * power(2, 276)},
      {"enas_macro", {}, power(6, 6) * power(2, 15)},
      // NDS, Table 1: 5,063 and 71,465,842 and 556,628 thousand million cells of a kind.
      {"enas_micro", {{"preset", "cifar10"}}, power(power(5, 5) * 720, 4)},
      {"enas_micro", {{"stages", 1}}, power(power(5, 5) * 720, 2)},
      {"nasnet", {{"stages", 1}}, power(power(13, 5) * 720, 2)},
      {"nasnet", {{"preset", "nasnet-mobile"}}, power(power(13, 5) * 720, 4)},
      {"nasnet", {{"preset", "amoebanet-cifar10"}}, power(power(8, 5) * 720, 4)},
      {"nasnet", {{"ops", "pnas"}, {"stages", 1}}, power(power(8, 5) * 720, 2)},
      {"mnasnet", {}, power(432, 2)},
      {"mnasnet", {{"stages", 5}, {"width", 16}}, power(432, 5)},
      {"mnasnet", {{"preset", "imagenet"}}, power(mnas, 7)},
      {"mobilenetv3", {{"preset", "elastic"}}, power(81 + 729 + 6561, 5)},
      {"mobilenetv3", {{"preset", "large"}}, power(power(15, 2) + power(15, 3) + power(15, 4), 5)},
      {"nasbench101", {{"preset", "cifar10"}}, 509'607'936},
      {"nasbench201", {{"preset", "cifar10"}}, 15'625},
      {"proxylessnas", {{"layers", 4}, {"stages", 5}}, power(6 * power(7, 3), 5)},
      {"proxylessnas", {{"preset", "gpu"}}, power(6 * power(7, 3), 5) * 6},
      {"spos", {}, power(4, 4)},
      {"spos", {{"preset", "imagenet"}}, power(4, 20)},
      // Widths x the sum over depths of (heads x ratios)^depth.
      {"transformer", {}, 3 * (9 + 81 + 729)},
      {"transformer", {{"causal", true}, {"depth", 2}}, 3 * (9 + 81)},
      // Wide alone; deep and both: dropouts x the sum over depths of (widths x activations)^depth.
      {"wide_deep", {}, 1 + 2 * 3 * (9 + 81 + 729)},
  };
  std::set<std::string> counted;
  for (const Count& count : counts) {
    const auto blueprint = made(count.name, ends_for(count.name), count.options);
    const auto samples = count_samples(blueprint);
    ASSERT_TRUE(samples.has_value()) << count.name;
    EXPECT_DOUBLE_EQ(*samples, count.samples) << count.name << " " << count.options;
    counted.insert(count.name);
  }
  EXPECT_EQ(counted.size(), published_spaces().size());
}

/// Every sample of a space, and how many different models they make.
struct Enumerated {
  std::int64_t samples = 0;
  std::set<Digest> networks;
};
Enumerated enumerate(const Blueprint& blueprint, const ModelInterface& between) {
  const auto ops = graph::builtin_ops();
  const auto space = search_space(blueprint);
  Enumerated all;
  const auto wanted = static_cast<std::int64_t>(*count_samples(blueprint));
  for (std::uint64_t i = 0; all.samples < wanted && i < 100'000; ++i) {
    space::GridChooser choose(i, 1);
    const auto sample = space.sample(choose);
    if (choose.exhausted()) continue;  // of other conditions
    ++all.samples;
    const auto model = blueprint.expand(sample, ops, between);
    EXPECT_TRUE(model.ok()) << model.error().text();
    if (model.ok()) all.networks.insert(graph::canonical_hash(*model, ops));
  }
  return all;
}

TEST(PublishedCounts, MatchDistinctGraphs) {
  struct Small {
    const char* name;
    json options;
    std::int64_t samples, networks;
  };
  const Small spaces[] = {
      {"enas_macro", {{"layers", 2}, {"pools", 0}}, 72, 72},
      {"enas_macro", {{"layers", 2}, {"pools", 1}, {"width", 2}}, 72, 72},
      // A sum does not know its order: pairs of 16 ways to read an input, with repetition.
      {"nasnet", {{"ops", "amoebanet"}, {"nodes", 1}, {"stages", 1}, {"width", 4}}, 256, 16 * 17 / 2},
      // One layer has nothing to shorten but by a pool: there `none` and `identity` are one.
      {"mnasnet", {{"stages", 1}}, 432, 432 - 36},
      {"mobilenetv3", {{"stages", 1}, {"expand", {3}}}, 9 + 27 + 81, 9 + 27 + 81},
      // It does not matter which layers were left out: six ways to begin, then none, one or two layers.
      {"proxylessnas", {{"stages", 1}, {"layers", 3}}, 6 * 49, 6 * (1 + 6 + 36)},
      {"spos", {{"blocks", {2, 1}}}, 64, 64},
      {"transformer", {{"depth", 1}}, 27, 27},
      {"wide_deep", {{"depth", 1}}, 55, 55},
  };
  for (const Small& small : spaces) {
    const ModelInterface between = ends_for(small.name);
    const Enumerated all = enumerate(made(small.name, between, small.options), between);
    EXPECT_EQ(all.samples, small.samples) << small.name << " " << small.options;
    EXPECT_EQ(static_cast<std::int64_t>(all.networks.size()), small.networks) << small.name << " " << small.options;
  }
}

TEST(PublishedCounts, GiveDistinctNasbench101Networks) {
  const auto ops = graph::builtin_ops();
  const ModelInterface between = model_interface(graph::Shape{{1, 8, 8}}, 10);
  const auto blueprint = made("nasbench101", between, {{"stacks", 1}, {"width", 12}});
  const char* kinds[] = {"conv3x3", "conv1x1", "maxpool3x3"};
  std::set<Digest> networks;
  std::size_t cells = 0;
  // 1 + 6 + 84 of the published 423,624, and every fifth of the 2,441 of five vertices.
  for (int vertices = 2; vertices <= 5; ++vertices) {
    const auto all = testing::nasbench101_cells(vertices);
    for (std::size_t i = 0; i < all.size(); i += vertices < 5 ? 1 : 5) {
      const Nasbench101Cell& cell = all[i];
      // Inner vertices stand in front, the output last.
      const auto place = [&](int v) { return v + 1 == cell.vertices ? Nasbench101Cell::kMaxVertices - 1 : v; };
      space::Sample sample;
      for (const space::Parameter& parameter : blueprint.parameters()) {
        sample[parameter.name] = space::domain_value(parameter.domain, 0, 1);
      }
      for (int from = 0; from < cell.vertices; ++from) {
        for (int to = from + 1; to < cell.vertices; ++to) {
          const std::string name = "edge_" + std::to_string(place(from)) + "_" + std::to_string(place(to));
          sample[name] = cell.edge(from, to);
        }
      }
      for (int v = 1; v + 1 < cell.vertices; ++v) {
        sample["op_" + std::to_string(v)] = std::string(kinds[cell.ops[static_cast<std::size_t>(v - 1)]]);
      }
      const auto model = blueprint.expand(sample, ops, between);
      ASSERT_TRUE(model.ok()) << model.error().text();
      networks.insert(graph::canonical_hash(*model, ops));
      ++cells;
    }
  }
  EXPECT_EQ(cells, 1U + 6 + 84 + 489);
  EXPECT_EQ(networks.size(), cells);
}

TEST(PublishedCounts, GiveDistinctNasbench201Networks) {
  const auto ops = graph::builtin_ops();
  const ModelInterface between = model_interface(graph::Shape{{1, 8, 8}}, 10);
  const auto blueprint = made("nasbench201", between, {{"stages", 1}, {"width", 2}});
  std::map<Digest, std::string> of_network;
  std::set<std::string> keys;
  Rng rng(11);
  for (int i = 0; i < 2'500; ++i) {
    const auto cell = Nasbench201Cell::at(rng.between(0, Nasbench201Cell::kCount - 1));
    space::Sample sample;
    for (std::size_t e = 0; e < cell.ops.size(); ++e) {
      const auto [from, to] = Nasbench201Cell::kEdges[e];
      sample["edge_" + std::to_string(from) + "_" + std::to_string(to)] =
          std::string(Nasbench201Cell::kOpNames[cell.ops[e]]);
    }
    const auto model = blueprint.expand(sample, ops, between);
    ASSERT_TRUE(model.ok()) << model.error().text();
    // By the rule under which there are 12,751 of 15,625. It takes a sum of sums for one sum; graphs do not.
    const std::string key = nasbench201_key(cell, Nasbench201Same::kSkips);
    const Digest network = graph::canonical_hash(*model, ops);
    keys.insert(key);
    ASSERT_EQ(of_network.emplace(network, key).first->second, key) << nasbench201_text(cell);
  }
  EXPECT_LT(of_network.size(), 2'500U);
  EXPECT_GE(of_network.size(), keys.size());
}

}  // namespace
}  // namespace lanista::mutate
