// Studies that close rungs early (implied: {when: decided}), compared with equal studies without the rule.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "lanista/engine/core/engine.h"
#include "lanista/search/study/pruning_rules.h"
#include "support/engine/core/test_support.h"

namespace lanista::engine {
namespace {

using study::OutcomeKind;
using study::TrialView;
using namespace testing;

const std::vector<std::int64_t> kRungs{1, 2, 4};

/// A FakeExecutor with few values of accuracy, sometimes 1, as a function of trial number and epoch.
class CoarseMetricExecutor final : public testing::ForwardingExecutor {
 public:
  CoarseMetricExecutor(Executor& inner, std::uint64_t salt, double best_probability)
      : ForwardingExecutor(inner), salt_(salt), best_probability_(best_probability) {}

  std::optional<Report> next(double seconds) override {
    auto report = ForwardingExecutor::next(seconds);
    auto* epoch_report = report ? std::get_if<EpochReport>(&*report) : nullptr;
    if (epoch_report == nullptr) return report;
    study::Measurement& m = epoch_report->measurement;
    Rng rng = Rng(salt_).split(m.trial.value).split(static_cast<std::uint64_t>(m.epoch));
    m.metrics["val_accuracy"] =
        rng.uniform(0, 1) < best_probability_ ? 1.0 : 0.5 + 0.1 * static_cast<double>(rng.below(4));
    return report;
  }

 private:
  std::uint64_t salt_;
  double best_probability_;
};

struct RandomSetup {
  std::uint64_t seed = 1;
  std::string strategy = "random", rule = "successive_halving", brackets = "together";
  bool mutates = true;
  double best_probability = 0.3;
  std::int64_t fail_one_in = 0, trials = 24;
};

RandomSetup sample_setup(Rng& rng) {
  RandomSetup out;
  out.seed = rng.below(1000);
  out.strategy = std::vector<std::string>{"random", "sobol", "grid"}[rng.below(3)];
  out.rule = rng.below(2) == 0 ? "successive_halving" : "hyperband";
  out.brackets = rng.below(2) == 0 ? "together" : "in_turn";
  out.mutates = out.strategy != "grid" && rng.below(2) == 0;
  out.best_probability = rng.uniform(0.1, 0.6);
  return out;
}

study::StudyConfig study_of(const RandomSetup& setup, bool closes_rungs_early) {
  study::StudyConfig config = testing::small_study(setup.trials);
  if (!setup.mutates) config.space.mutate.clear();
  if (setup.strategy == "grid") {
    config.space.params = {};
    const std::vector<double> rates{0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8};
    space::Categorical lr, momentum;
    for (const double rate : rates) lr.values.emplace_back(rate);
    for (const double value : {0.0, 0.5, 0.9}) momentum.values.emplace_back(value);
    LANISTA_CHECK(config.space.params.add({"lr", lr, {}}).ok(), "");
    LANISTA_CHECK(config.space.params.add({"momentum", momentum, {}}).ok(), "");
  }
  config.run.seed = setup.seed;
  config.train.measured.ties = study::kTiesToEarlier;
  config.goals = {{true, "val_accuracy"}};
  config.strategy = {setup.strategy, 3, Options::object()};
  config.stop = {setup.rule, {{"eta", 2}, {"brackets", setup.brackets}}};
  if (setup.rule == "successive_halving") {
    config.stop.options["rungs"] = {1, 2};
    config.stop.options["trials"] = 8;
  }
  if (closes_rungs_early) config.implied = {{std::string(study::kWhenRungDecided), "", true}};
  return testing::resolved(config);
}

Result<RunResult> run(Bench& bench, const RandomSetup& setup, bool closes_rungs_early, FakeOptions options,
                      FileSystem& fs, bool resumes = false) {
  options.fail_one_in = setup.fail_one_in;
  FakeExecutor fake = bench.executor(fs, options);
  CoarseMetricExecutor coarse(fake, setup.seed, setup.best_probability);
  return bench.run(study_of(setup, closes_rungs_early), coarse, fs, resumes);
}

const FakeOptions kNoFailures{.workers = 2, .checkpoint_one_in = 3};

study::StudyView run_and_view(const RandomSetup& setup, bool closes_rungs_early) {
  Bench bench;
  const auto summary = run(bench, setup, closes_rungs_early, kNoFailures, bench.disk);
  LANISTA_CHECK(summary.ok(), summary ? "" : summary.error().text());
  return bench.view();
}

bool is_implied(const TrialView& trial) { return trial.outcome->kind == OutcomeKind::kPrunedByRule; }

/// The rung that it was on its way to.
std::int64_t rung_of(const TrialView& trial) {
  const auto done = std::ssize(trial.measurements);
  return done < trial.budget ? trial.budget : *std::ranges::upper_bound(kRungs, done);
}

TEST(EarlyRungClosingStudy, HasSameSurvivorsAndWinnerAndTrainsLess) {
  Rng rng(5);
  std::int64_t steps = 0, steps_of_both = 0, implied = 0, in_last_rung = 0, of_others_shape = 0;
  for (int round = 0; round < 30; ++round) {
    const RandomSetup setup = sample_setup(rng);
    SCOPED_TRACE("round " + std::to_string(round) + ", " + setup.strategy + ", " + setup.rule + ", " + setup.brackets);
    const study::StudyView plain = run_and_view(setup, false), ruled = run_and_view(setup, true);

    ASSERT_EQ(ruled.trials.size(), plain.trials.size());
    for (std::size_t i = 0; i < plain.trials.size(); ++i) {
      const TrialView& was = plain.trials[i];
      const TrialView& is = ruled.trials[i];
      ASSERT_EQ(is.proposal.sample, was.proposal.sample);
      for (std::size_t m = 0; m < is.measurements.size(); ++m) {
        EXPECT_EQ(is.measurements[m].metrics.at("val_accuracy"), was.measurements[m].metrics.at("val_accuracy"));
      }
      if (!is_implied(is)) {
        EXPECT_EQ(is.outcome->kind, was.outcome->kind) << "trial " << is.id.value;
        EXPECT_EQ(is.measurements.size(), was.measurements.size()) << "trial " << is.id.value;
        continue;
      }
      ++implied;
      in_last_rung += rung_of(is) == kRungs.back() ? 1 : 0;
      of_others_shape += ruled.trials[is.outcome->pruned_by->value - 1].parameters != is.parameters ? 1 : 0;
      EXPECT_EQ(is.outcome->rule, "decided");
      EXPECT_LE(std::ssize(was.measurements), rung_of(is)) << "it was promoted, trial " << is.id.value;
    }
    EXPECT_EQ(ruled.winner, plain.winner);
    EXPECT_LE(ruled.steps, plain.steps);
    steps += ruled.steps, steps_of_both += plain.steps;
  }
  EXPECT_GT(implied, 100);
  EXPECT_GT(in_last_rung, 10);
  EXPECT_GT(of_others_shape, 10);
  EXPECT_LT(steps, 0.95 * static_cast<double>(steps_of_both));
  RecordProperty("steps", std::to_string(steps) + " of " + std::to_string(steps_of_both) + ", " +
                              std::to_string(implied) + " implied");
}

TEST(EarlyRungClosingStudy, ResumesIdenticallyAfterKillAtAnyRecord) {
  RandomSetup setup;
  setup.best_probability = 0.5;
  setup.trials = 12;
  Bench whole;
  const auto snapshots =
      testing::snapshots_of(whole, [&](FileSystem& fs) { return run(whole, setup, true, kNoFailures, fs); });
  ASSERT_GT(std::ranges::count_if(whole.view().trials, is_implied), 3);
  std::uint64_t cut = 0;
  for (const testing::Files& moment : testing::with_new_records(snapshots)) {
    Bench bench;
    testing::put_all(bench.disk, moment);
    FakeOptions options = kNoFailures;
    options.seed = ++cut;
    options.workers = static_cast<std::int64_t>(cut % 3) + 1;

    const auto summary = run(bench, setup, true, options, bench.disk, true);

    ASSERT_TRUE(summary.ok()) << "cut " << cut << ": " << summary.error().text();
    ASSERT_EQ(bench.canonical(), whole.canonical()) << "cut " << cut;
  }
  EXPECT_GT(cut, 40U);
}

TEST(EarlyRungClosingStudy, IsIndependentOfWorkersAndReportOrder) {
  RandomSetup setup;
  setup.fail_one_in = 5;
  std::set<std::string> exports;
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    Bench bench;
    const FakeOptions options{.seed = seed, .workers = static_cast<std::int64_t>(seed % 3) + 1};
    ASSERT_TRUE(run(bench, setup, true, options, bench.disk).ok());
    exports.insert(bench.canonical());
  }
  EXPECT_EQ(exports.size(), 1U);
}

// Samplers that learn observe a cancelled trial, not a bad one.
TEST(EarlyRungClosingStudy, EveryStrategyFinishes) {
  for (const char* strategy : {"tpe", "bohb", "evolution", "cmaes", "gp"}) {
    RandomSetup setup;
    setup.strategy = strategy;
    setup.rule = "hyperband";
    setup.brackets = "in_turn";
    setup.mutates = false;
    setup.best_probability = 0.5;
    const study::StudyView view = run_and_view(setup, true);

    EXPECT_TRUE(view.winner.has_value()) << strategy;
    EXPECT_GT(std::ranges::count_if(view.trials, is_implied), 0) << strategy;
  }
}

}  // namespace
}  // namespace lanista::engine
