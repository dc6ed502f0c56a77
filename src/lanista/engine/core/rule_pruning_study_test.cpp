#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "lanista/engine/core/engine.h"
#include "lanista/search/study/pruning_rules.h"
#include "support/engine/core/test_support.h"

namespace lanista::engine {
namespace {

using study::OutcomeKind;
using study::TrialView;
using namespace testing;

/// By what law trials fail: from a rate on that grows with the batch, in an epoch that comes sooner the higher the
/// rate.
struct DivergenceRule {
  double slope = 0.012;
  std::int64_t largest = 32;  ///< batch that there is memory for
  std::optional<std::int64_t> divergence_epoch(const study::Recipe& recipe) const {
    const double over = recipe.lr / (slope * static_cast<double>(recipe.batch));
    if (over <= 1) return std::nullopt;
    return over > 2 ? 1 : 2;
  }
};

/// A FakeExecutor with trials that fail by a fixed law.
class DivergingExecutor final : public testing::ForwardingExecutor {
 public:
  DivergingExecutor(Executor& inner, const DivergenceRule& divergence_rule)
      : ForwardingExecutor(inner), divergence_rule_(divergence_rule) {}

  Result<void> start(const Job& job) override {
    recipes_[job.trial] = job.recipe;
    if (job.recipe.batch > divergence_rule_.largest) return Error{Code::kResourceExhausted, "out of memory", ""};
    return ForwardingExecutor::start(job);
  }
  std::optional<Report> next(double seconds) override {
    auto report = ForwardingExecutor::next(seconds);
    auto* epoch = report ? std::get_if<EpochReport>(&*report) : nullptr;
    if (epoch == nullptr) return report;
    const auto bad = divergence_rule_.divergence_epoch(recipes_.at(epoch->measurement.trial));
    if (bad && epoch->measurement.epoch >= *bad) {
      epoch->measurement.metrics["train_loss"] = std::numeric_limits<double>::quiet_NaN();
    }
    return report;
  }

 private:
  DivergenceRule divergence_rule_;
  std::map<TrialId, study::Recipe> recipes_;
};

space::Categorical numbers(const std::vector<double>& values) {
  space::Categorical out;
  for (const double value : values) out.values.emplace_back(value);
  return out;
}

/// A space of rates and batches with pruning rules.
study::StudyConfig study_of(const std::string& strategy, const std::string& rule, bool rules,
                            std::string_view order = study::kNeededFirst) {
  study::StudyConfig config = testing::small_study(60);
  config.space.mutate.clear();
  config.space.params = {};
  const auto must = [](const Result<void>& result) { LANISTA_CHECK(result.ok(), "the test's own space"); };
  must(config.space.params.add({"lr", numbers({0.8, 0.1, 0.4, 0.05, 0.2, 1.6}), {}}));
  must(config.space.params.add(
      {"batch", space::Categorical{{std::int64_t{64}, std::int64_t{8}, std::int64_t{16}, std::int64_t{32}}}, {}}));
  must(config.space.params.add({"label_smoothing", numbers({0, 0.1}), {}}));
  config.strategy = {strategy, 3, Options::object()};
  config.strategy.order = order;
  config.stop = {rule, Options::object()};
  if (rule == "successive_halving") config.stop.options = {{"rungs", {1, 2}}, {"eta", 2}, {"trials", 12}};
  if (rule == "asha") config.stop.options = {{"rungs", {1, 2}}, {"eta", 2}};
  if (rules) {
    config.implied = {{"diverged", "lr", true}, {"diverged", "batch", false}, {"out_of_memory", "batch", true}};
  }
  return testing::resolved(config);
}

Result<RunResult> run(Bench& bench, const study::StudyConfig& config, const FakeOptions& options, FileSystem& fs,
                      bool resumes = false) {
  FakeExecutor fake = bench.executor(fs, options);
  DivergingExecutor lawful(fake, {});
  return bench.run(config, lawful, fs, resumes);
}

const FakeOptions kNoFailures{.workers = 2, .checkpoint_one_in = 3};

study::StudyView view_of(const study::StudyConfig& config) {
  Bench bench;
  const auto summary = run(bench, config, kNoFailures, bench.disk);
  LANISTA_CHECK(summary.ok(), summary ? "" : summary.error().text());
  return bench.view();
}

/// Outcome and measurements of each configuration, independent of trial numbers.
std::map<std::string, std::string> observed(const study::StudyView& view) {
  std::map<std::string, std::string> out;
  for (const TrialView& trial : view.trials) {
    if (trial.outcome->kind == OutcomeKind::kFailed || trial.outcome->kind == OutcomeKind::kPrunedByRule) continue;
    std::string& text = out[space::sample_json(trial.proposal.sample).dump()];
    text += std::string(study::outcome_name(trial.outcome->kind)) + " ";
    for (study::Measurement measurement : trial.measurements) {
      measurement.trial = TrialId{1};
      text += study::measurement_json(measurement).dump();
    }
  }
  return out;
}
std::map<std::string, std::string> failed(const study::StudyView& view) {
  std::map<std::string, std::string> out;
  for (const TrialView& trial : view.trials) {
    if (trial.outcome->kind != OutcomeKind::kFailed && trial.outcome->kind != OutcomeKind::kPrunedByRule) continue;
    out[space::sample_json(trial.proposal.sample).dump()] = std::string(study::outcome_name(trial.outcome->kind));
  }
  return out;
}
std::int64_t count(const study::StudyView& view, OutcomeKind kind) {
  return std::ranges::count_if(view.trials, [&](const TrialView& trial) { return trial.outcome->kind == kind; });
}
std::string winner_of(const study::StudyView& view) {
  return view.winner ? space::sample_json(view.trials[view.winner->value - 1].proposal.sample).dump() : "";
}

TEST(RulePruningStudy, HasSameWinnerAsWithoutRulesAndTrainsLess) {
  for (const char* strategy : {"grid", "random", "sobol"}) {
    for (const char* rule : {"none", "successive_halving"}) {
      const std::string what = std::string(strategy) + ", " + rule;
      const study::StudyView plain = view_of(study_of(strategy, rule, false));
      std::int64_t trained_before = std::ssize(plain.trials) + 1;
      for (const std::string_view order : {study::kAsGiven, study::kNeededFirst}) {
        const study::StudyView ruled = view_of(study_of(strategy, rule, true, order));

        // In synchronous rungs the bracket of a trial depends on its position, so the order is kept.
        if (rule == std::string("none") || order == study::kAsGiven) {
          EXPECT_EQ(observed(ruled), observed(plain)) << what;
          EXPECT_EQ(winner_of(ruled), winner_of(plain)) << what;
        }
        const auto lost = failed(ruled), lost_before = failed(plain);
        const auto name = [](const auto& entry) { return entry.first; };
        EXPECT_TRUE(std::ranges::equal(lost, lost_before, {}, name, name)) << what << ": the same trials fail";
        const std::int64_t trained = std::ssize(ruled.trials) - count(ruled, OutcomeKind::kPrunedByRule);
        EXPECT_LT(trained, trained_before) << what << ", " << order;
        if (order == study::kAsGiven) trained_before = trained + 1;
        EXPECT_LT(ruled.steps, plain.steps) << what;
        RecordProperty(what + ", " + std::string(order),
                       std::to_string(trained) + " of " + std::to_string(plain.trials.size()) + " trials, " +
                           std::to_string(ruled.steps) + " of " + std::to_string(plain.steps) + " steps");
      }
    }
  }
}

TEST(RulePruningStudy, RecordsPruningTrialAndRule) {
  const study::StudyView view = view_of(study_of("grid", "none", true));

  ASSERT_GT(count(view, OutcomeKind::kPrunedByRule), 5);
  for (const TrialView& trial : view.trials) {
    if (trial.outcome->kind != OutcomeKind::kPrunedByRule) continue;
    const study::Outcome& outcome = *trial.outcome;
    ASSERT_TRUE(outcome.pruned_by.has_value());
    const TrialView& by = view.trials[outcome.pruned_by->value - 1];
    EXPECT_EQ(by.outcome->kind, OutcomeKind::kFailed) << "a trial that failed, not one that was pruned";
    EXPECT_TRUE(outcome.rule.starts_with(study::failure_event(*by.outcome))) << outcome.rule;
    EXPECT_EQ(outcome.reason, "implied by trial " + std::to_string(by.id.value) + " (" + outcome.rule + ")");
    EXPECT_TRUE(outcome.weights.empty());
  }
  EXPECT_EQ(view.trials.size(), 48U) << "the budget counts them: the whole grid was looked through";
}

TEST(RulePruningStudy, LogIsUnchangedWithoutRules) {
  Bench bench;
  ASSERT_TRUE(run(bench, study_of("grid", "none", false), kNoFailures, bench.disk).ok());
  const std::string canonical = bench.canonical();

  EXPECT_EQ(canonical.find("\"group\""), std::string::npos);
  EXPECT_EQ(canonical.find("costs"), std::string::npos);
  EXPECT_EQ(canonical.find("\"place\""), std::string::npos);
  EXPECT_EQ(bench.view().config_text.find("implied"), std::string::npos);
}

TEST(RulePruningStudy, LogsGroupCosts) {
  Bench bench;
  study::StudyConfig config = study_of("grid", "none", true);
  config.data.rules = study::kFirstRules;  // later rules have a higher schema
  ASSERT_TRUE(run(bench, config, kNoFailures, bench.disk).ok());
  const auto records = *store::read_log(bench.disk, kFolder);
  std::int64_t groups = 0;
  bool moved = false;
  for (const store::Record& record : records) {
    moved = moved || record.body.contains("place");
    if (record.type != store::RecordType::kGroup) continue;
    ++groups;
    ASSERT_EQ(record.body.at("costs").size(), record.body.at("members").size());
    for (const auto& cost : record.body.at("costs")) EXPECT_GT(cost.get<double>(), 0);
  }
  EXPECT_EQ(groups, 1);
  EXPECT_TRUE(moved);
  EXPECT_EQ(records.front().body.at("schema"), store::kImpliedSchema) << "older builds leave such a log alone";
}

std::string weights_of(const Bench& bench) {
  const auto best = testing::best_files(bench.disk);
  const auto at = best.find(kFolder + "/best/weights.safetensors");
  return at == best.end() ? "" : at->second;
}

TEST(RulePruningStudy, ResumesIdenticallyAfterKillAtAnyRecord) {
  std::uint64_t cut = 0;
  for (const auto& [strategy, rule] :
       std::vector<std::pair<std::string, std::string>>{{"grid", "none"}, {"random", "successive_halving"}}) {
    study::StudyConfig config = study_of(strategy, rule, true);
    config.budget.trials = 16;
    Bench whole;
    const auto snapshots =
        testing::snapshots_of(whole, [&](FileSystem& fs) { return run(whole, config, kNoFailures, fs); });
    ASSERT_GT(count(whole.view(), OutcomeKind::kPrunedByRule), 2) << strategy;
    for (const testing::Files& moment : testing::with_new_records(snapshots)) {
      Bench bench;
      testing::put_all(bench.disk, moment);
      FakeOptions options = kNoFailures;
      options.seed = ++cut;
      options.workers = static_cast<std::int64_t>(cut % 3) + 1;

      const auto summary = run(bench, config, options, bench.disk, true);

      ASSERT_TRUE(summary.ok()) << strategy << ", cut " << cut << ": " << summary.error().text();
      ASSERT_EQ(bench.canonical(), whole.canonical()) << strategy << ", cut " << cut;
      ASSERT_EQ(weights_of(bench), weights_of(whole));
    }
  }
  EXPECT_GT(cut, 80U);
}

TEST(RulePruningStudy, IsIndependentOfWorkersAndReportOrder) {
  for (const char* rule : {"none", "successive_halving", "asha"}) {
    std::set<std::string> exports;
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      Bench bench;
      const FakeOptions options{.seed = seed, .workers = static_cast<std::int64_t>(seed % 3) + 1};
      ASSERT_TRUE(run(bench, study_of("random", rule, true), options, bench.disk).ok());
      exports.insert(bench.canonical());
    }
    EXPECT_EQ(exports.size(), 1U) << rule;
  }
}

TEST(RulePruningStudy, ResumesExactlyAfterAnyPause) {
  const study::StudyConfig config = study_of("grid", "none", true);
  Bench whole;
  ASSERT_TRUE(run(whole, config, kNoFailures, whole.disk).ok());
  for (int after = 2; after < 50; after += 12) {
    Bench bench;
    int events = 0, pauses = 0;
    bench.observer.on_event = [&](const StudyView&, const study::Event&) {
      if (++events % after == 0) bench.pause = 15;
    };
    auto summary = run(bench, config, kNoFailures, bench.disk);
    while (summary.ok() && summary->end == RunEnd::kPaused && ++pauses < 200) {
      bench.pause = 0;
      summary = run(bench, config, kNoFailures, bench.disk, true);
    }
    ASSERT_TRUE(summary.ok()) << summary.error().text();
    EXPECT_GT(pauses, 0);
    ASSERT_EQ(bench.canonical(), whole.canonical()) << after;
  }
}

TEST(RulePruningStudy, EveryStrategyFinishes) {
  for (const char* strategy : {"tpe", "evolution", "bohb", "cmaes", "nsga2", "local_search", "policy_gradient"}) {
    for (const char* rule : {"none", "asha"}) {
      study::StudyConfig config = study_of(strategy, rule, true);
      config.budget.trials = 20;
      config = *studyfile::read_study(studyfile::write_study(config), "again.yaml");
      Bench bench;

      const auto summary = run(bench, config, kNoFailures, bench.disk);

      ASSERT_TRUE(summary.ok()) << strategy << ", " << rule << ": " << summary.error().text();
      EXPECT_TRUE(bench.view().winner.has_value()) << strategy << ", " << rule;
    }
  }
}

}  // namespace
}  // namespace lanista::engine
