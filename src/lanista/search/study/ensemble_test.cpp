#include "lanista/search/study/ensemble.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "lanista/base/rng.h"
#include "lanista/search/study/record_fields.h"

namespace lanista::study {
namespace {

using Selections = std::vector<std::int64_t>;

/// Predictions of a few models for a few rows, with the targets.
struct Library {
  std::vector<std::vector<double>> predictions;
  std::vector<double> targets;

  double loss(const Selections& selections) const {
    double sum = 0;
    const auto all = static_cast<double>(std::accumulate(selections.begin(), selections.end(), std::int64_t{0}));
    for (std::size_t row = 0; row < targets.size(); ++row) {
      double mean = 0;
      for (std::size_t k = 0; k < selections.size(); ++k)
        mean += static_cast<double>(selections[k]) / all * predictions[k][row];
      sum += (mean - targets[row]) * (mean - targets[row]);
    }
    return sum / static_cast<double>(targets.size());
  }
};

Library random_library(std::uint64_t seed) {
  Rng rng = Rng(31).split(seed);
  Library out;
  const std::size_t rows = 3 + rng.below(12);
  for (std::size_t row = 0; row < rows; ++row) out.targets.push_back(rng.normal());
  const std::size_t models = 1 + rng.below(5);
  for (std::size_t k = 0; k < models; ++k) {
    auto& model = out.predictions.emplace_back();
    // Some models copy others, so there are ties.
    if (k > 0 && rng.below(4) == 0) {
      model = out.predictions[rng.below(k)];
      continue;
    }
    for (const double target : out.targets) model.push_back(target + (0.5 + rng.uniform()) * rng.normal());
  }
  std::ranges::sort(out.predictions, {}, [&](const std::vector<double>& model) {
    double sum = 0;
    for (std::size_t row = 0; row < rows; ++row) sum += std::pow(model[row] - out.targets[row], 2);
    return sum;
  });
  return out;
}

std::int64_t different(const Selections& selections) {
  return std::ranges::count_if(selections, [](std::int64_t n) { return n > 0; });
}

/// The selection as the paper describes it: lists of names, each turn computed from scratch; then the best prefix.
Selections greedy_by_definition(const Library& library, std::int64_t most) {
  std::vector<std::size_t> bag{0};
  const auto selections_of = [&](const std::vector<std::size_t>& names) {
    Selections selections(library.predictions.size(), 0);
    for (const std::size_t name : names) ++selections[name];
    return selections;
  };
  std::vector<Selections> prefixes{selections_of(bag)};
  while (std::ssize(bag) < most) {
    std::size_t pick = 0;
    double least = INFINITY;
    bool least_is_new = true;
    for (std::size_t k = 0; k < library.predictions.size(); ++k) {
      std::vector<std::size_t> with = bag;
      with.push_back(k);
      const double loss = library.loss(selections_of(with));
      const bool is_new = std::ranges::find(bag, k) == bag.end();
      if (loss < least || (loss == least && least_is_new && !is_new)) {
        pick = k;
        least = loss;
        least_is_new = is_new;
      }
    }
    bag.push_back(pick);
    prefixes.push_back(selections_of(bag));
  }
  std::size_t best = 0;
  for (std::size_t i = 1; i < prefixes.size(); ++i) {
    const double now = library.loss(prefixes[i]), then = library.loss(prefixes[best]);
    const bool equal = std::abs(now - then) <= 1e-9 * std::max(now, then);
    if (equal ? different(prefixes[i]) < different(prefixes[best]) : now < then) best = i;
  }
  return prefixes[best];
}

std::vector<double> shares(const Selections& selections) {
  std::vector<double> out;
  const auto all = static_cast<double>(std::accumulate(selections.begin(), selections.end(), std::int64_t{0}));
  for (const std::int64_t n : selections) out.push_back(static_cast<double>(n) / all);
  return out;
}

TEST(SelectEnsemble, MatchesPublishedSelection) {
  int blends = 0;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    const Library library = random_library(seed);
    const auto most = static_cast<std::int64_t>(1 + seed % 9);
    // Two models selected twice each are the blend of both selected once, so the sums must be equal, too.
    const auto loss = [&](std::span<const std::int64_t> selections) -> Result<std::optional<double>> {
      return std::optional(library.loss(Selections(selections.begin(), selections.end())));
    };

    const auto seen = select_ensemble(library.predictions.size(), most, loss);

    ASSERT_TRUE(seen);
    const auto want = greedy_by_definition(library, most);
    EXPECT_NEAR(library.loss(*seen), library.loss(want), 1e-9) << seed;
    EXPECT_EQ(different(*seen), different(want)) << seed;
    EXPECT_EQ(shares(*seen), shares(want)) << seed;
    Selections alone(library.predictions.size(), 0);
    alone[0] = 1;
    EXPECT_LE(library.loss(*seen), library.loss(alone) * (1 + 1e-12));
    EXPECT_LE(std::accumulate(seen->begin(), seen->end(), std::int64_t{0}), most);
    blends += different(*seen) > 1 ? 1 : 0;
  }
  EXPECT_GT(blends, 200);
}

TEST(SelectEnsemble, EvaluatesEachBlendOnce) {
  std::vector<std::vector<double>> asked;
  const auto loss = [&](std::span<const std::int64_t> selections) -> Result<std::optional<double>> {
    asked.push_back(shares(Selections(selections.begin(), selections.end())));
    return std::optional(1.0 / static_cast<double>(asked.size()));
  };

  ASSERT_TRUE(select_ensemble(3, 6, loss));

  const std::size_t all = asked.size();
  std::ranges::sort(asked);
  asked.erase(std::ranges::unique(asked).begin(), asked.end());
  EXPECT_EQ(asked.size(), all);
}

TEST(SelectEnsemble, ExcludesInvalidBlends) {
  const auto loss = [](std::span<const std::int64_t> selections) -> Result<std::optional<double>> {
    if (selections[1] > 0) return std::optional<double>();      // forbidden
    if (selections[2] > 0) return std::optional(std::nan(""));  // NaN
    return std::optional(selections[3] > 0 ? 0.5 : 1.0);
  };

  EXPECT_EQ(*select_ensemble(4, 2, loss), (Selections{1, 0, 0, 1}));
  EXPECT_EQ(*select_ensemble(3, 5, loss), (Selections{1, 0, 0}));

  // The first model of the turn has NaN; the others are tried all the same.
  const auto gap = [](std::span<const std::int64_t> selections) -> Result<std::optional<double>> {
    return std::optional(selections[0] == 2 ? std::nan("") : 1.0 / static_cast<double>(1 + selections[1]));
  };
  EXPECT_EQ(*select_ensemble(2, 3, gap), (Selections{1, 2}));
}

TEST(SelectEnsemble, IgnoresRoundingDifferences) {
  const auto loss = [](std::span<const std::int64_t> selections) -> Result<std::optional<double>> {
    return std::optional(selections[1] > 0 ? 0.3 * (1 - 1e-15) : 0.3);
  };

  EXPECT_EQ(*select_ensemble(2, 4, loss), (Selections{1, 0}));
}

TEST(SelectEnsemble, ForwardsErrorsOfLoss) {
  const auto loss = [](std::span<const std::int64_t> selections) -> Result<std::optional<double>> {
    if (selections[0] > 0 && selections[1] > 0) return Error{Code::kIo, "no disk", ""};
    return std::optional(1.0);
  };

  EXPECT_EQ(select_ensemble(2, 3, loss).error().code, Code::kIo);
}

TEST(Ensemble, RoundTripsThroughRecord) {
  const Ensemble one{{{TrialId{3}, 2}, {TrialId{1}, 1}}, {{"val_accuracy", 0.1}}, {{"test_accuracy", std::nan("")}}};
  const Ensemble again = read_ensemble(ensemble_json(one));
  EXPECT_EQ(again.members, one.members);
  EXPECT_EQ(again.validation, one.validation);
  EXPECT_TRUE(std::isnan(again.test.at("test_accuracy")));
  EXPECT_EQ(one.shares(), (std::vector<double>{2.0 / 3, 1.0 / 3}));

  for (const char* bad :
       {R"({"members": [], "validation": {}, "test": {}})",
        R"({"members": [{"trial": 1, "draws": 0}], "validation": {}, "test": {}})",
        R"({"members": [{"trial": 1, "draws": 1}, {"trial": 1, "draws": 2}], "validation": {}, "test": {}})"}) {
    EXPECT_THROW(read_ensemble(nlohmann::json::parse(bad)), fields::Malformed) << bad;
  }
}

}  // namespace
}  // namespace lanista::study
