#include "lanista/io/zoo/catalogue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lanista/model/graph/text.h"
#include "support/model/transfer/test_function_overlap.h"
#include "support/model/transfer/test_layers.h"

namespace lanista::zoo {
namespace {

MatchModel random_model(std::uint64_t seed, std::uint64_t stream) {
  auto model = MatchModel::of(testing::random_layers(Rng(stream).split(seed), 9), graph::builtin_ops());
  EXPECT_TRUE(model.ok());
  return *std::move(model);
}

Catalogue random_catalogue(std::uint64_t seed, std::uint64_t models) {
  Catalogue out;
  Rng rng = Rng(21).split(seed);
  for (std::uint64_t k = 0; k < models; ++k) {
    // Few qualities and ages, so that ties occur.
    EXPECT_TRUE(out.add({"m" + std::to_string(k), rng.bernoulli(0.8) ? "digits" : "cats",
                         static_cast<double>(rng.below(4)), rng.between(0, 2)},
                        random_model(seed * 1000 + k, 22)));
  }
  return out;
}

TEST(Catalogue, MatchesExhaustiveSearchWithBound) {
  std::int64_t spared = 0, found = 0;
  for (std::uint64_t seed = 0; seed < testing::cases(60); ++seed) {
    const Catalogue zoo = random_catalogue(seed, 40);
    for (std::uint64_t k = 0; k < 5; ++k) {
      const MatchModel child = random_model(seed * 10 + k, 23);
      SearchStats fast, full;
      const auto one = zoo.best(child, "digits", {}, &fast);
      const auto other = zoo.best(child, "digits", {.match = {}, .exhaustive = true}, &full);

      ASSERT_EQ(one.has_value(), other.has_value());
      if (one) {
        ++found;
        EXPECT_EQ(one->entry.id, other->entry.id);
        EXPECT_EQ(one->entry.task, "digits");
      }
      spared += full.aligned - fast.aligned;
    }
  }
  const auto children = static_cast<std::int64_t>(5 * testing::cases(60));
  EXPECT_GT(3 * found, 2 * children);
  EXPECT_GT(spared, 3 * children);
}

/// The score of a start from `parent`, computed from the shapes of the pairs, independently of the search.
double worth_by_hand(const MatchModel& parent, const MatchModel& child, double rank) {
  const auto weights = [](const MatchModel& model) {
    double all = 0;
    for (const auto& node : model.nodes) {
      for (const auto& shape : node.shapes) all += testing::elements(shape);
    }
    return all;
  };
  const auto pairs = match(parent, child).pairs;
  double common = 0;
  for (const graph::NodePair& pair : pairs) {
    common += testing::common_by_hand(parent.nodes[testing::place_of(parent, pair.a)],
                                      child.nodes[testing::place_of(child, pair.b)]);
  }
  if (common == 0) return 0;
  const double coverage = common / weights(child), retention = common / weights(parent);
  const double start_benefit = 1 / (0.9 / coverage + 0.1 / retention);
  return start_benefit < 0.05
             ? 0
             : 0.6 * start_benefit + 0.2 * testing::function_overlap_by_paths(parent, child, pairs) + 0.2 * rank;
}

TEST(Catalogue, ReturnsModelWithHighestScore) {
  std::int64_t found = 0, not_most_alike = 0, not_best = 0;
  for (std::uint64_t seed = 0; seed < testing::cases(60); ++seed) {
    Catalogue zoo;
    Rng rng = Rng(24).split(seed);
    std::vector<std::pair<double, MatchModel>> known;  // the last third is not admitted
    for (std::uint64_t k = 0; k < 30; ++k) {
      known.emplace_back(static_cast<double>(rng.below(8)), random_model(seed * 1000 + k, 25));
      ASSERT_TRUE(zoo.add({std::to_string(k), "digits", known.back().first, static_cast<std::int64_t>(k)},
                          known.back().second));
    }
    SearchOptions search;
    search.admits = [](const CatalogueEntry& entry) { return entry.age < 20; };
    known.resize(20);
    for (std::uint64_t k = 0; k < 5; ++k) {
      const MatchModel child = random_model(seed * 10 + k, 26);
      if (std::ranges::any_of(known, [&](const auto& one) { return one.second.hash == child.hash; })) continue;
      double most = 0, best_quality = 0, most_alike = 0;
      std::vector<double> value_of;
      for (const auto& [quality, model] : known) {
        double no_better = 0;
        for (const auto& other : known) no_better += other.first <= quality ? 1 : 0;
        value_of.push_back(worth_by_hand(model, child, no_better / 20));
        most = std::max(most, value_of.back());
        if (value_of.back() > 0) best_quality = std::max(best_quality, quality);
        most_alike = std::max(most_alike, match(model, child).sim);
      }
      const auto parent_match = zoo.best(child, "digits", search);

      ASSERT_EQ(parent_match.has_value(), most > 0);
      if (!parent_match) continue;
      ++found;
      EXPECT_NEAR(value_of[std::stoul(parent_match->entry.id)], most, 1e-12);
      not_best += parent_match->entry.quality < best_quality;
      not_most_alike += parent_match->match.sim < most_alike - 1e-9;
    }
  }
  // Neither quality nor similarity alone decides.
  EXPECT_GT(found, 3 * static_cast<std::int64_t>(testing::cases(60)));
  EXPECT_GT(10 * not_best, found);
  EXPECT_GT(10 * not_most_alike, found);
}

TEST(Catalogue, IsStableWhenRankedModelDisappears) {
  std::int64_t found = 0, ranks_matter = 0;
  for (std::uint64_t seed = 0; seed < testing::cases(60); ++seed) {
    Catalogue whole;
    Rng rng = Rng(28).split(seed);
    std::vector<CatalogueEntry> entries;
    for (std::uint64_t k = 0; k < 30; ++k) {
      entries.push_back({"m" + std::to_string(k), "digits", rng.uniform(), 0});
      ASSERT_TRUE(whole.add(entries.back(), random_model(seed * 1000 + k, 29)));
    }
    for (std::uint64_t k = 0; k < 5; ++k) {
      const MatchModel child = random_model(seed * 10 + k, 27);
      const auto parent_match = whole.best(child, "digits");
      if (!parent_match || parent_match->match.sim == 1) continue;
      ++found;
      std::set<std::string> gone;
      Catalogue rest = whole;
      for (const CatalogueEntry& entry : entries) {
        if (entry.id == parent_match->entry.id || rng.bernoulli(0.4)) continue;
        gone.insert(entry.id);
        EXPECT_TRUE(rest.remove(entry.id));
        rest.rank_only(entry);
      }
      SearchOptions search;
      search.admits = [&](const CatalogueEntry& entry) { return !gone.contains(entry.id); };
      ranks_matter += whole.best(child, "digits", search)->entry.id != parent_match->entry.id;
      search.ranks = [](const CatalogueEntry&) { return true; };

      EXPECT_EQ(whole.best(child, "digits", search)->entry.id, parent_match->entry.id);
      EXPECT_EQ(rest.best(child, "digits")->entry.id, parent_match->entry.id);
    }
  }
  EXPECT_GT(found, static_cast<std::int64_t>(testing::cases(60)));
  EXPECT_GT(ranks_matter, 0);
}

TEST(Catalogue, WeighsBenefitOverlapAndRank) {
  const auto chain = [](const std::vector<std::int64_t>& widths) {
    std::string text = "%0 = input(shape=[16])\n";
    std::size_t at = 0;
    for (const std::int64_t width : widths) {
      text +=
          "%" + std::to_string(at + 1) + " = linear(%" + std::to_string(at) + ", out=" + std::to_string(width) + ")\n";
      ++at;
    }
    text += "%" + std::to_string(at + 1) + " = output(%" + std::to_string(at) + ")\n";
    return *MatchModel::of(*graph::parse(text), graph::builtin_ops());
  };
  const MatchModel child = chain({16, 16, 4});
  const auto chosen = [&](const std::vector<std::pair<double, MatchModel>>& parents) {
    Catalogue zoo;
    for (std::size_t k = 0; k < parents.size(); ++k) {
      EXPECT_TRUE(zoo.add({std::to_string(k), "digits", parents[k].first, 0}, parents[k].second));
    }
    const auto parent_match = zoo.best(child, "digits");
    return parent_match ? parent_match->entry.id : "none";
  };

  EXPECT_EQ(chosen({{0.1, chain({16, 15, 4})}, {0.9, chain({16, 14, 4})}}), "1")
      << "one that is a little less alike, but far";
  EXPECT_EQ(chosen({{0.8, chain({16, 16, 5})}, {0.9, chain({1, 1, 4})}}), "0") << "one that is a little behind";
  EXPECT_EQ(chosen({{0.9, chain({16, 16, 8, 4})}, {0.9, chain({16, 8, 4})}}), "0")
      << "additional layers of a parent cost little";
  EXPECT_EQ(chosen({{0.9, chain({160, 160, 4})}, {0.9, chain({16, 12, 4})}}), "1") << "unless it is far larger";
}

TEST(Catalogue, ReturnsBestSimilarWithoutAligningEqual) {
  const MatchModel model = random_model(3, 22), other = random_model(4, 22);
  Catalogue zoo;
  ASSERT_TRUE(zoo.add({"fair", "digits", 0.7, 5}, model));
  ASSERT_TRUE(zoo.add({"old", "digits", 0.9, 1}, model));
  ASSERT_TRUE(zoo.add({"young", "digits", 0.9, 2}, model));
  ASSERT_TRUE(zoo.add({"elsewhere", "cats", 1.0, 9}, model));
  ASSERT_TRUE(zoo.add({"other", "digits", 1.0, 9}, other));
  SearchStats count;

  const auto parent_match = zoo.best(model, "digits", {}, &count);

  ASSERT_TRUE(parent_match.has_value());
  EXPECT_EQ(parent_match->entry.id, "young");
  EXPECT_EQ(parent_match->match.sim, 1.0);
  EXPECT_EQ(count.aligned, 0);
  EXPECT_FALSE(zoo.best(model, "dogs").has_value());
}

TEST(Catalogue, ReturnsOnlyAdmittedModels) {
  const MatchModel model = random_model(3, 22);
  Catalogue zoo;
  ASSERT_TRUE(zoo.add({"old", "digits", 0.7, 1}, model));
  ASSERT_TRUE(zoo.add({"young", "digits", 0.9, 2}, model));
  for (std::uint64_t k = 10; k < 20; ++k) {
    ASSERT_TRUE(zoo.add({std::to_string(k), "digits", 0.5, static_cast<std::int64_t>(k)}, random_model(k, 22)));
  }
  SearchOptions search;
  search.admits = [](const CatalogueEntry& entry) { return entry.age < 2; };

  EXPECT_EQ(zoo.best(model, "digits", search)->entry.id, "old") << "of those that are the same";
  const auto child = random_model(14, 22);
  EXPECT_EQ(zoo.best(child, "digits")->entry.id, "14");
  const auto parent_match = zoo.best(child, "digits", search);
  EXPECT_TRUE(!parent_match || parent_match->entry.id == "old") << "of those that are alike";
  search.admits = [](const CatalogueEntry&) { return false; };
  EXPECT_FALSE(zoo.best(model, "digits", search));
}

TEST(Catalogue, RejectsUnrankableModels) {
  Catalogue zoo;
  ASSERT_TRUE(zoo.add({"m", "digits", 0.5, 0}, random_model(1, 22)));

  EXPECT_EQ(zoo.add({"m", "digits", 0.5, 0}, random_model(1, 22)).error().code, Code::kAlreadyExists);
  EXPECT_EQ(zoo.add({"", "digits", 0.5, 0}, random_model(1, 22)).error().code, Code::kInvalidArgument);
  EXPECT_EQ(zoo.add({"n", "digits", NAN, 0}, random_model(1, 22)).error().code, Code::kInvalidArgument);
  EXPECT_EQ(zoo.size(), 1U);
}

}  // namespace
}  // namespace lanista::zoo
