#include <gtest/gtest.h>

#include <limits>

#include "lanista/engine/core/noop_executor.h"
#include "lanista/engine/core/study_engine.h"
#include "lanista/engine/core/study_setup.h"
#include "lanista/engine/core/top_k.h"
#include "support/engine/core/test_support.h"

namespace lanista::engine {
namespace {

using testing::Bench;
using testing::kFolder;
using testing::RepeatingStrategy;
using testing::small_study;

/// A FakeExecutor with an accuracy of NaN in odd trials, as a metric that the rows do not define.
class UndefinedMetricExecutor final : public testing::ForwardingExecutor {
 public:
  using ForwardingExecutor::ForwardingExecutor;
  std::optional<Report> next(double seconds) override {
    auto report = ForwardingExecutor::next(seconds);
    auto* epoch_report = report ? std::get_if<EpochReport>(&*report) : nullptr;
    if (epoch_report != nullptr && epoch_report->measurement.trial.value % 2 == 1) {
      epoch_report->measurement.metrics["val_accuracy"] = std::numeric_limits<double>::quiet_NaN();
    }
    return report;
  }
};

TEST(Engine, RanksTrialsWithAnUndefinedGoalLast) {
  for (const std::int64_t rules : {study::kFirstRules, study::kLatestRules}) {
    Bench bench;
    study::StudyConfig config = small_study(6);
    config.data.rules = rules;
    config.stop = {"none", Options::object()};
    config.goals = {{true, "val_accuracy"}};
    FakeExecutor fake = bench.executor(bench.disk, {});
    UndefinedMetricExecutor executor(fake);
    const auto done = bench.run(config, executor, bench.disk);
    ASSERT_TRUE(done) << done.error().text();
    const StudyView view = bench.view();
    for (const TrialView& trial : view.trials) {
      if (trial.outcome->kind == study::OutcomeKind::kDuplicate || trial.id.value % 2 == 0) continue;
      const bool diverged = trial.outcome->reason.starts_with("diverged: val_accuracy is nan");
      EXPECT_EQ(diverged, rules == study::kFirstRules) << trial.outcome->reason;
    }
    const auto ranked = study::ranking(view);
    ASSERT_FALSE(ranked.empty());
    EXPECT_EQ(ranked.front().value % 2, 0U);
    if (rules == study::kLatestRules) {
      EXPECT_EQ(ranked.back().value % 2, 1U);
    }
  }
}

TEST(Engine, EndsDuplicatesWithTheirOriginal) {
  Bench bench;
  const study::StudyConfig config = small_study(5);
  const auto models = make_model_space(config, bench.data, "", bench.disk);
  ASSERT_TRUE(models.ok());
  const mutate::Candidate base = (*models)->base(0);
  study::Proposal proposal;
  proposal.base_hash = proposal.graph_hash = base.hash;
  proposal.budget = 4;
  auto strategy = std::make_unique<RepeatingStrategy>(proposal);
  auto log = store::LogWriter::open(bench.disk, bench.clock, kFolder);
  ASSERT_TRUE(log.ok());
  ASSERT_TRUE(log->append(store::RecordType::kHeader,
                          header_body(config, studyfile::write_study(config), bench.data, **models)));
  FakeExecutor fake = bench.executor(bench.disk, {});
  StudyState state;
  state.view.config = config;
  state.trials = 5;

  StudyEngine engine(kFolder, bench.services(bench.disk, fake), *std::move(log), std::move(state), *models,
                     std::move(strategy));
  const auto summary = engine.run();

  ASSERT_TRUE(summary.ok()) << summary.error().text();
  ASSERT_EQ(engine.view().trials.size(), 5U);
  EXPECT_EQ(engine.view().trials[0].outcome->kind, study::OutcomeKind::kSucceeded);
  for (std::size_t i = 1; i < 5; ++i) {
    EXPECT_EQ(engine.view().trials[i].outcome->kind, study::OutcomeKind::kDuplicate);
    EXPECT_EQ(engine.view().trials[i].outcome->same_as, TrialId{1});
  }
  EXPECT_EQ(fake.epochs_run(), 4);
  EXPECT_EQ(ranking(engine.view()), std::vector<TrialId>{TrialId{1}});
}

TEST(Engine, RunsManyTrialsThatDoNothing) {
  Bench bench;
  study::StudyConfig config = small_study(2000);
  config.space.mutate.clear();
  config.strategy = {"random", 16, {{"mutations", {0, 0}}}};
  config.stop = {};
  config.train.length.epochs = 1;
  NoopExecutor executor;
  auto engine = Engine::create(kFolder, config, studyfile::write_study(config), bench.numerics,
                               bench.services(bench.disk, executor));
  ASSERT_TRUE(engine.ok()) << engine.error().text();

  const auto summary = (*engine)->run();

  ASSERT_TRUE(summary.ok()) << summary.error().text();
  EXPECT_EQ((*engine)->view().trials.size(), 2000U);
  EXPECT_EQ(ranking((*engine)->view()).size(), 2000U);
  EXPECT_EQ((*engine)->view().winner, ranking((*engine)->view()).front());
}

TEST(Engine, LiveViewEqualsReplayedView) {
  Bench bench;
  const auto config = small_study();
  FakeExecutor fake = bench.executor(bench.disk, {.fail_one_in = 5});
  auto engine =
      Engine::create(kFolder, config, studyfile::write_study(config), bench.numerics, bench.services(bench.disk, fake));
  ASSERT_TRUE(engine.ok());
  ASSERT_TRUE((*engine)->run().ok());

  const StudyView& live = (*engine)->view();
  const StudyView folded = bench.view();

  ASSERT_EQ(live.trials.size(), folded.trials.size());
  for (std::size_t i = 0; i < live.trials.size(); ++i) {
    const TrialView& a = live.trials[i];
    const TrialView& b = folded.trials[i];
    EXPECT_EQ(study::proposal_json(a.proposal), study::proposal_json(b.proposal));
    EXPECT_EQ(study::outcome_json(*a.outcome), study::outcome_json(*b.outcome));
    EXPECT_EQ(a.logical_start, b.logical_start);
    EXPECT_EQ(a.parameters, b.parameters);
    ASSERT_EQ(a.measurements.size(), b.measurements.size());
    for (std::size_t k = 0; k < a.measurements.size(); ++k) {
      EXPECT_EQ(study::measurement_json(a.measurements[k]), study::measurement_json(b.measurements[k]));
    }
  }
  EXPECT_EQ(live.steps, folded.steps);
  EXPECT_EQ(live.winner, folded.winner);
  EXPECT_EQ(live.test, folded.test);
  EXPECT_EQ(live.end_reason, folded.end_reason);
  EXPECT_NEAR(live.seconds, folded.seconds, 1e-9);
}

// Old logs have whole proposals. New logs leave out the steps that a child shares with its parent.
TEST(ReplayLog, ReadsFullAndSharedChildren) {
  Bench bench;
  ASSERT_TRUE(bench.run(small_study(40), {}).ok());
  const StudyView view = bench.view();
  const auto records = store::read_log(bench.disk, kFolder);
  ASSERT_TRUE(records.ok());
  std::size_t short_ones = 0;
  std::vector<store::Record> full = *records;
  for (store::Record& record : full) {
    if (record.type != store::RecordType::kProposed) continue;
    short_ones += record.body.at("proposal").contains("of_parent") ? 1 : 0;
    record.body["proposal"] =
        study::proposal_json(view.trials[record.body.at("trial").get<std::size_t>() - 1].proposal);
  }
  EXPECT_GT(short_ones, 10U);

  const auto again = fold(full);

  ASSERT_TRUE(again.ok()) << again.error().text();
  ASSERT_EQ(again->trials.size(), view.trials.size());
  for (std::size_t i = 0; i < view.trials.size(); ++i) {
    EXPECT_EQ(study::proposal_json(again->trials[i].proposal), study::proposal_json(view.trials[i].proposal));
    const auto model = study::trial_model(view, view.trials[i], graph::builtin_ops());
    ASSERT_TRUE(model.ok()) << model.error().text();
    EXPECT_EQ(graph::canonical_hash(*model, graph::builtin_ops()), view.trials[i].proposal.graph_hash);
  }
  // A child without a parent, of itself, or of a later trial; a child that claims too many shared steps.
  for (store::Record& record : full) {
    if (record.type != store::RecordType::kProposed || record.body.at("trial") != 30) continue;
    nlohmann::json& proposal = record.body["proposal"];
    proposal["of_parent"] = {{"steps", 1}, {"edits", 100'000}};
    proposal["further_steps"] = proposal["further_edits"] = nlohmann::json::array();
    for (const int parent : {3, 30, 31, 4000}) {
      proposal["parent"] = parent;
      const auto refused = fold(full);
      ASSERT_FALSE(refused.ok()) << parent;
      EXPECT_EQ(refused.error().code, Code::kDataLoss);
    }
    proposal.erase("parent");
    EXPECT_FALSE(fold(full).ok());
  }
}

TEST(ReplayLog, RefusesRecordsThatContradictEachOther) {
  Bench bench;
  ASSERT_TRUE(bench.run(small_study(), {}).ok());
  const auto records = store::read_log(bench.disk, kFolder);
  ASSERT_TRUE(records.ok());
  for (std::size_t i = 0; i < records->size(); ++i) {
    const auto type = (*records)[i].type;
    if (type != store::RecordType::kHeader && type != store::RecordType::kProposed &&
        type != store::RecordType::kMeasurement) {
      continue;
    }
    std::vector<store::Record> broken = *records;
    broken.erase(broken.begin() + static_cast<std::ptrdiff_t>(i));
    const bool last_of_all = type == store::RecordType::kMeasurement &&
                             (i + 1 == records->size() || (*records)[i + 1].type != store::RecordType::kMeasurement);
    const auto view = fold(broken);
    if (last_of_all && view.ok()) continue;  // the last measurement of a trial leaves no gap
    ASSERT_FALSE(view.ok()) << "record " << i;
    EXPECT_EQ(view.error().code, Code::kDataLoss);
  }
  std::vector<store::Record> twice = *records;
  twice.insert(twice.begin(), twice.front());
  EXPECT_FALSE(fold(twice).ok());
  EXPECT_EQ(fold({}).error().code, Code::kDataLoss);
}

TEST(Ranking, RanksByGoalsThenParametersThenId) {
  StudyView view;
  view.config.goals = {{true, "acc"}, {false, "loss"}};
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto add = [&](double acc, double loss, std::int64_t parameters, study::OutcomeKind kind) {
    TrialView trial;
    trial.id = TrialId{static_cast<std::uint32_t>(view.trials.size() + 1)};
    trial.measurements = {{trial.id, 1, 1, {{"acc", 2.0}}}, {trial.id, 2, 2, {{"acc", acc}, {"loss", loss}}}};
    trial.parameters = parameters;
    trial.outcome = study::Outcome{kind, "", {}, "", {}};
    view.trials.push_back(trial);
  };
  add(0.5, 1, 10, study::OutcomeKind::kSucceeded);
  add(0.9, 2, 10, study::OutcomeKind::kSucceeded);
  add(0.9, 1, 20, study::OutcomeKind::kStopped);
  add(0.9, 1, 10, study::OutcomeKind::kSucceeded);
  add(0.9, 1, 10, study::OutcomeKind::kSucceeded);
  add(1.0, 0, 1, study::OutcomeKind::kFailed);
  add(nan, 0, 1, study::OutcomeKind::kSucceeded);
  add(1.0, 0, 1, study::OutcomeKind::kCancelled);

  const std::vector<TrialId> expected{TrialId{4}, TrialId{5}, TrialId{3}, TrialId{2}, TrialId{1}, TrialId{7}};
  EXPECT_EQ(ranking(view), expected);
}

// Trials that are equal in all goals are ordered by loss, then by parameter count, then by id.
TEST(Ranking, BreaksTiesByLossOfSelectedEpoch) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  StudyView view;
  view.config.goals = {{true, "val_accuracy"}};
  const auto add = [&](double accuracy, const std::vector<double>& losses, std::int64_t parameters) {
    TrialView trial;
    trial.id = TrialId{static_cast<std::uint32_t>(view.trials.size() + 1)};
    for (const double loss : losses) {
      const std::int64_t epoch = std::ssize(trial.measurements) + 1;
      trial.measurements.push_back({trial.id, epoch, epoch, {{"val_accuracy", accuracy}, {"val_loss", loss}}});
    }
    trial.parameters = parameters;
    trial.outcome = study::Outcome{study::OutcomeKind::kSucceeded, "", {}, "", {}};
    view.trials.push_back(trial);
  };
  add(0.9, {0.5, 0.3, 0.4}, 10);
  add(0.9, {0.6, 0.2, 0.9}, 90);
  add(0.9, {nan}, 1);
  add(0.9, {0.3}, 5);
  add(0.8, {0.1}, 1);

  using Ids = std::vector<TrialId>;
  EXPECT_EQ(ranking(view), (Ids{TrialId{2}, TrialId{4}, TrialId{1}, TrialId{3}, TrialId{5}}));
  EXPECT_EQ(result_of(view.config, view.trials[0]).epoch, 2);
  EXPECT_EQ(pareto_front(ranking_keys(view)).size(), 4U)
      << "a tie breaker is not a goal: trials that are equal in the goals share the front";

  view.config.train.measured.ties = study::kTiesToEarlier;
  EXPECT_EQ(ranking(view), (Ids{TrialId{3}, TrialId{4}, TrialId{1}, TrialId{2}, TrialId{5}}));
  EXPECT_EQ(result_of(view.config, view.trials[0]).epoch, 1);

  view.config.train.measured.ties = study::kTiesByLoss;
  view.config.goals.push_back({true, "val_loss"});
  EXPECT_EQ(ranking(view).front(), TrialId{2}) << "a goal that speaks of the loss decides alone";
  EXPECT_EQ(result_of(view.config, view.trials[1]).epoch, 3);
}

TEST(TopK, KeepsBestAndReturnsRemoved) {
  TopK top(2);
  const auto at = [](double loss, std::uint32_t id) {
    return study::RankingKey{.losses = {{false, loss}}, .trial = TrialId{id}};
  };
  EXPECT_TRUE(top.would_admit(at(9, 1)));
  EXPECT_TRUE(top.add(at(3, 1)).empty());
  EXPECT_TRUE(top.add(at(2, 2)).empty());
  EXPECT_FALSE(top.would_admit(at(3, 3)));  // equal, but later
  EXPECT_EQ(top.add(at(3, 3)), std::vector<TrialId>{TrialId{3}});
  EXPECT_TRUE(top.would_admit(at(1, 4)));
  EXPECT_EQ(top.add(at(1, 4)), std::vector<TrialId>{TrialId{1}});
  EXPECT_EQ(top.best().front().trial, TrialId{4});
}

TEST(ModelSpace, RefusesBaseUnlikeTheData) {
  Bench bench;
  study::StudyConfig config = small_study();
  config.model.base = {"own.graph"};
  bench.disk.put("/here/own.graph", "%0 = input(shape=[6])\n%1 = linear(%0, out=4)\n%2 = output(%1)\n");

  const auto wrong = make_model_space(config, bench.data, "/here", bench.disk);
  bench.disk.put("/here/own.graph", "%0 = input(shape=[6])\n%1 = linear(%0, out=3)\n%2 = output(%1)\n");
  const auto right = make_model_space(config, bench.data, "/here", bench.disk);

  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().where, "model.base[0]");
  EXPECT_TRUE(right.ok()) << right.error().text();
}

}  // namespace
}  // namespace lanista::engine
