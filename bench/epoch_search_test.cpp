#include "bench/epoch_search.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "bench/tabular_arms.h"

namespace lanista::bench {
namespace {

const char* const kOperations[] = {"none", "conv_1x1", "conv_3x3"};

/// All 729 cells of six edges. The accuracy grows with the weights and with a random value for each edge and operation.
AccuracyTable table_of_six_edges() {
  Rng rng(11);
  double worth[6][3];
  for (auto& edge : worth) {
    for (std::size_t k = 0; k < 3; ++k) edge[k] = rng.uniform(0, 6) + 2 * static_cast<double>(k);
  }
  std::string csv = "cell,toy-val,toy-test\n";
  for (std::size_t code = 0; code < 729; ++code) {
    std::size_t digits[6], rest = code;
    double accuracy = 20;
    for (std::size_t i = 0; i < 6; ++i, rest /= 3) {
      digits[i] = rest % 3;
      accuracy += worth[i][digits[i]];
    }
    const auto op = [&](std::size_t i) { return std::string(kOperations[digits[i]]); };
    csv += "|" + op(0) + "~0|+|" + op(1) + "~0|" + op(2) + "~1|+|" + op(3) + "~0|" + op(4) + "~1|" + op(5) + "~2|," +
           std::to_string(accuracy) + ",50\n";
  }
  auto table = AccuracyTable::read(csv, "toy");
  LANISTA_CHECK(table.ok(), "the table of the test is valid");
  return *std::move(table);
}

StrategyArm strategy_arm_named(const std::string& name) {
  for (search::StrategyPlugin& plugin : search::builtin_strategies()) {
    if (plugin.name == name) return {name, 1, plugin, *resolve_options(Options::object(), plugin.options)};
  }
  return {};
}

EpochRun search(const AccuracyTable& table, const std::string& name, const EpochBudget& budget, std::uint64_t seed) {
  const StrategyArm strategy_arm = strategy_arm_named(name);
  auto run = search_epochs(table, strategy_arm.plugin, strategy_arm.options, budget, seed);
  LANISTA_CHECK(run.ok(), "the search of the table succeeds");
  return *std::move(run);
}

/// The share of pairs of cells that have the same order as at the end, in [0, 1].
double concordance(const TableCurves& curves, const AccuracyTable& table, std::int64_t epoch) {
  std::vector<double> now;
  for (std::size_t a = 0; a < table.rows(); ++a) now.push_back(curves.validation(a, epoch));
  double same = 0, pairs = 0;
  for (std::size_t a = 0; a < table.rows(); ++a) {
    for (std::size_t b = 0; b < a; ++b, pairs += 1) {
      const double end = table.row(a).validation - table.row(b).validation;
      same += (now[a] - now[b]) * end > 0 ? 1 : 0;
    }
  }
  return same / pairs;
}

TEST(TableCurves, EndAtTableWithRisingCorrelation) {
  const AccuracyTable table = table_of_six_edges();
  const TableCurves curves(table, 27, 3);

  for (std::size_t row = 0; row < table.rows(); ++row) EXPECT_EQ(curves.validation(row, 27), table.row(row).validation);
  double last = 0.55;  // random values have 0.5
  for (const std::int64_t epoch : {1, 3, 9}) {
    const double now = concordance(curves, table, epoch);
    EXPECT_GT(now, last) << epoch;
    EXPECT_LT(now, 0.95) << epoch;
    // Kendall's tau and Spearman's rho of near-normal values: tau = 2/pi asin(2 sin(pi rho / 6)) is below rho.
    EXPECT_GT(curves.rank_correlation(epoch), 2 * now - 1) << epoch;
    last = now;
  }
  EXPECT_NEAR(curves.rank_correlation(27), 1, 1e-12);
}

TEST(TableCurves, DependOnSeed) {
  const AccuracyTable table = table_of_six_edges();
  EXPECT_EQ(TableCurves(table, 9, 1).validation(5, 2), TableCurves(table, 9, 1).validation(5, 2));
  EXPECT_NE(TableCurves(table, 9, 1).validation(5, 2), TableCurves(table, 9, 2).validation(5, 2));
  EXPECT_NE(TableCurves(table, 9, 1).validation(5, 2), TableCurves(table, 9, 1).validation(5, 3));
}

TEST(AccuracyTable, CountsTheWeightsOfConvolutions) {
  const AccuracyTable table = table_of_six_edges();
  std::vector<double> counts(55);
  for (std::size_t row = 0; row < table.rows(); ++row) counts.at(static_cast<std::size_t>(table.weights(row))) += 1;
  EXPECT_EQ(counts[0], 1);
  EXPECT_EQ(counts[1], 6);
  EXPECT_EQ(counts[9], 6);
  EXPECT_EQ(counts[9 + 2], 60);  // six edges for 3 x 3, two of the other five for 1 x 1
  EXPECT_EQ(counts[54], 1);
}

TEST(SearchEpochs, SpendsExactEpochBudget) {
  const AccuracyTable table = table_of_six_edges();
  EpochBudget budget{9, 1, {9 * 4, 9 * 20}};

  const EpochRun plain = search(table, "random", budget, 1);
  EXPECT_EQ(plain.trials, 20);
  EXPECT_EQ(plain.finished, 20);
  ASSERT_EQ(plain.after.size(), 2U);
  EXPECT_GE(plain.after[0].validation_regret, plain.after[1].validation_regret);

  budget.slots = 4;
  const EpochRun with_slots = search(table, "random", budget, 1);
  EXPECT_EQ(with_slots.finished, 20);
  EXPECT_EQ(with_slots.trials, 20 + 3);  // three more trials have begun
  budget.rule = "asha";
  const EpochRun stopped = search(table, "random", budget, 1);
  EXPECT_GT(stopped.trials, 40);
  EXPECT_LT(stopped.finished, 15);
}

TEST(SearchEpochs, FindsMoreWithEarlyStopping) {
  const AccuracyTable table = table_of_six_edges();
  double with = 0, without = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    with += search(table, "random", {27, 1, {27 * 15}, "asha"}, seed).after[0].validation_regret / 40;
    without += search(table, "random", {27, 1, {27 * 15}}, seed).after[0].validation_regret / 40;
  }
  EXPECT_LT(with, 0.8 * without);
}

// R = 27 and eta = 3 give brackets of 27, 12, 6 and 4 trials. With resumed trials these need 81 + 78 + 90 + 108 epochs,
// and 1 + 1 + 2 + 4 trials reach the end.
TEST(SearchEpochs, FollowsHyperbandSchedule) {
  const AccuracyTable table = table_of_six_edges();
  const EpochRun cycle = search(table, "random", {27, 1, {357}, "hyperband"}, 1);
  EXPECT_EQ(cycle.trials, 49);
  EXPECT_EQ(cycle.finished, 8);

  const EpochRun first = search(table, "random", {27, 1, {81}, "hyperband"}, 1);
  EXPECT_EQ(first.trials, 27);
  EXPECT_EQ(first.finished, 1);
}

TEST(SearchEpochs, LeavesAStrategyItsOwnHalving) {
  const AccuracyTable table = table_of_six_edges();
  const EpochRun own = search(table, "dehb", {27, 1, {27 * 15}, "none"}, 1);
  EXPECT_GT(own.trials, 30);  // without halving there would be 15
  EXPECT_GT(own.finished, 0);
}

TEST(SearchEpochs, FindsWholeFrontWithFullTraining) {
  const AccuracyTable table = table_of_six_edges();
  const EpochRun run = search(table, "grid", {2, 1, {2 * 100, 2 * 729}, "none", true}, 1);
  EXPECT_GT(run.after[0].volume_regret, 1);
  EXPECT_NEAR(run.after[1].volume_regret, 0, 1e-9);
  EXPECT_EQ(run.after[1].kept, 100);
  EXPECT_EQ(run.after[1].validation_regret, 0);
}

TEST(SearchEpochs, KeepsParetoFrontUnderAsha) {
  const AccuracyTable table = table_of_six_edges();
  const auto kept = [&](const std::string& on) {
    double sum = 0;
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      const EpochRun run = search(table, "random", {27, 1, {27 * 20}, "asha", true, on}, seed);
      sum += run.after[0].kept / 40;
      EXPECT_LT(run.finished, 0.5 * static_cast<double>(run.trials));
    }
    return sum;
  };
  EXPECT_GT(kept(""), 2 * kept("val_accuracy"));
}

}  // namespace
}  // namespace lanista::bench
