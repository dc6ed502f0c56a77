#include "lanista/engine/core/engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "lanista/engine/core/package.h"
#include "lanista/io/formats/safetensors.h"
#include "support/engine/core/test_support.h"

namespace lanista::engine {
namespace {

using testing::Bench;
using testing::kFolder;
using testing::small_study;

TEST(Engine, RunsAStudyToItsBudgetAndPackagesTheWinner) {
  Bench bench;

  const auto summary = bench.run(small_study(), {.workers = 2, .steps_per_epoch = 2});

  ASSERT_TRUE(summary.ok()) << summary.error().text();
  EXPECT_EQ(summary->end, RunEnd::kDone);
  EXPECT_EQ(summary->reason, "budget");
  const StudyView view = bench.view();
  ASSERT_EQ(view.trials.size(), 14U);
  std::int64_t steps = 0, stopped = 0, mutated = 0;
  for (const TrialView& trial : view.trials) {
    ASSERT_TRUE(trial.outcome) << trial.id.value;
    ASSERT_FALSE(trial.measurements.empty());
    const bool whole = trial.outcome->kind == study::OutcomeKind::kSucceeded;
    EXPECT_EQ(trial.measurements.size() == 4U, whole);
    EXPECT_TRUE(trial.outcome->weights_hash.has_value());
    steps += trial.measurements.back().step;
    stopped += trial.outcome->kind == study::OutcomeKind::kStopped ? 1 : 0;
    mutated += trial.proposal.edits.empty() ? 0 : 1;
  }
  EXPECT_EQ(view.steps, steps);
  EXPECT_GT(stopped, 0);
  EXPECT_GT(mutated, 0);
  const auto order = ranking(view);
  ASSERT_FALSE(order.empty());
  EXPECT_EQ(view.winner, order.front());
  EXPECT_TRUE(view.test.contains("test_accuracy"));
  EXPECT_EQ(view.end_reason, "budget");
}

TEST(Engine, PackageHasNoOptimizerState) {
  Bench bench;
  ASSERT_TRUE(bench.run(small_study(), {}).ok());

  const auto weights = formats::decode_safetensors(*bench.disk.read(kFolder + "/best/weights.safetensors"));
  const auto package = nlohmann::json::parse(*bench.disk.read(kFolder + "/best/package.json"));

  ASSERT_TRUE(weights.ok());
  ASSERT_EQ(weights->tensors.size(), 1U);
  EXPECT_EQ(weights->tensors[0].name, "n1.weight");
  const StudyView view = bench.view();
  const TrialView& winner = view.trials[view.winner->value - 1];
  EXPECT_EQ(package["graph_hash"], winner.proposal.graph_hash.hex());
  EXPECT_EQ(package["labels"], nlohmann::json({"a", "b", "c"}));
  EXPECT_EQ(package["input"]["shape"], nlohmann::json::array({6}));
  EXPECT_TRUE(bench.disk.exists(kFolder + "/best/model.graph"));
  EXPECT_TRUE(bench.disk.exists(kFolder + "/README.txt"));
  EXPECT_TRUE(bench.disk.exists(kFolder + "/config.resolved.yaml"));
}

TEST(Engine, RanksAndPackagesBySelectedEpoch) {
  for (const std::string_view keep : {study::kKeepBestEpoch, study::kKeepLast}) {
    Bench bench;
    study::StudyConfig config = small_study(20);
    config.train.measured.keep = keep;
    ASSERT_TRUE(bench.run(config, {.seed = 2, .seed_noise = 0.9}));
    const StudyView view = bench.view();
    double best = 0;
    bool differs = false;
    for (const TrialView& trial : view.trials) {
      if (!trial.outcome || !study::ranks(trial, *trial.outcome)) continue;
      double own = trial.measurements.back().metrics.at("val_accuracy");
      for (const study::Measurement& m : trial.measurements) {
        const double seen = m.metrics.at("val_accuracy");
        differs = differs || seen > own;
        if (keep == study::kKeepBestEpoch) own = std::max(own, seen);
      }
      best = std::max(best, own);
    }
    ASSERT_TRUE(differs) << "the test's own study";
    const auto package = read_package(bench.disk, kFolder + "/best", graph::builtin_ops());
    ASSERT_TRUE(package) << package.error().text();
    EXPECT_EQ(package->facts.at("metrics").at("training").at("val_accuracy"), best);
    const TrialView& winner = view.trials[view.winner->value - 1];
    const auto stored = store::CheckpointStore(bench.disk, kFolder).get(winner.outcome->weights);
    ASSERT_EQ(package->members[0].weights.size(), 1U);
    EXPECT_EQ(package->members[0].weights[0], store::selected_weights(*stored).front());
    EXPECT_EQ(package->members[0].weights[0] == stored->tensors.front(), stored->kept.empty());
    EXPECT_EQ(package->facts.at("epochs"), study::result_of(view.config, winner).epoch);
    EXPECT_EQ(stored->kept.empty(), package->facts.at("epochs") == winner.measurements.back().epoch);
  }
}

TEST(Engine, NumericClassNamesSummationOrder) {
  Bench bench;
  study::StudyConfig config = small_study();
  config.train.numerics.shards = 4;
  ASSERT_TRUE(bench.run(config, {}).ok());
  EXPECT_EQ(bench.view().numerics, nlohmann::json({{"class", "test/sums 4"}, {"threads", 1}}));
}

TEST(Engine, KeepsOnlyBestWeights) {
  Bench bench;
  ASSERT_TRUE(bench.run(small_study(), {.workers = 3, .checkpoint_one_in = 2}).ok());

  const auto files = bench.disk.list(kFolder + "/ckpt");

  const StudyView view = bench.view();
  const auto order = ranking(view);
  std::vector<std::string> wanted;
  for (std::size_t i = 0; i < 2; ++i) {
    wanted.push_back(view.trials[order[i].value - 1].outcome->weights + ".safetensors");
  }
  std::sort(wanted.begin(), wanted.end());
  ASSERT_TRUE(files.ok());
  EXPECT_EQ(*files, wanted);
}

TEST(Engine, TrialsAreIndependentOfWorkersAndArrivalOrder) {
  Bench first;
  ASSERT_TRUE(first.run(small_study(), {.workers = 1}).ok());
  const std::string expected = first.canonical();

  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Bench bench;
    const FakeOptions options{.seed = seed,
                              .workers = static_cast<std::int64_t>(seed % 4) + 1,
                              .checkpoint_one_in = static_cast<std::int64_t>(seed % 3)};
    ASSERT_TRUE(bench.run(small_study(), options).ok());
    ASSERT_EQ(bench.canonical(), expected) << "seed " << seed;
  }
}

TEST(Engine, DependsOnSeedAndSlots) {
  Bench first, other_seed, more_slots;
  study::StudyConfig config = small_study();
  ASSERT_TRUE(first.run(config, {}).ok());
  config.run.seed = 8;
  ASSERT_TRUE(other_seed.run(config, {}).ok());
  config = small_study();
  config.strategy.slots = 5;
  ASSERT_TRUE(more_slots.run(config, {}).ok());

  const auto trials = [](Bench& bench) {
    std::string all;
    for (const TrialView& trial : bench.view().trials) all += study::run_key(trial.proposal).hex();
    return all;
  };
  EXPECT_NE(trials(first), trials(other_seed));
  EXPECT_NE(trials(first), trials(more_slots));
}

TEST(Engine, RespectsSlotsAndLogicalOrder) {
  Bench bench;
  std::int64_t running = 0, most = 0;
  bench.observer.on_event = [&](const StudyView&, const study::Event& event) {
    if (std::holds_alternative<study::Proposed>(event)) most = std::max(most, ++running);
    if (std::holds_alternative<study::Ended>(event)) --running;
  };
  ASSERT_TRUE(bench.run(small_study(), {.seed = 5, .workers = 3}).ok());
  EXPECT_EQ(most, 3);
  EXPECT_EQ(running, 0);

  const auto records = store::read_log(bench.disk, kFolder);
  double time = 0;
  for (const store::Record& record : *records) {
    if (record.type == store::RecordType::kProposed) {
      EXPECT_GE(record.body["logical_start"].get<double>(), time);
      time = record.body["logical_start"].get<double>();
    } else if (record.type == store::RecordType::kOutcome) {
      EXPECT_GE(record.body["logical_time"].get<double>(), time);
      time = record.body["logical_time"].get<double>();
    }
  }
  EXPECT_GT(time, 0);
}

TEST(Engine, RecordsFailuresAsOutcomes) {
  const FakeOptions options{.workers = 2, .fail_one_in = 4, .nan_one_in = 4, .refuse_one_in = 5};
  Bench bench;
  const auto summary = bench.run(small_study(40), options);

  ASSERT_TRUE(summary.ok()) << summary.error().text();
  int failed = 0, diverged = 0, refused = 0;
  const StudyView view = bench.view();
  for (const TrialView& trial : view.trials) {
    if (trial.outcome->kind != study::OutcomeKind::kFailed) continue;
    const std::string& reason = trial.outcome->reason;
    failed += reason == "an operator threw" ? 1 : 0;
    if (reason.starts_with("diverged: train_loss is nan at epoch ")) {
      ++diverged;
      EXPECT_TRUE(std::isnan(trial.measurements.back().metrics.at("train_loss")));
    }
    if (reason.find("more memory") != std::string::npos) {
      ++refused;
      EXPECT_TRUE(trial.measurements.empty());
    }
  }
  EXPECT_GT(failed, 0);
  EXPECT_GT(diverged, 0);
  EXPECT_GT(refused, 0);
  for (const TrialId id : ranking(view)) {
    EXPECT_NE(view.trials[id.value - 1].outcome->kind, study::OutcomeKind::kFailed);
  }
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    Bench other;
    FakeOptions shuffled = options;
    shuffled.seed = seed;
    shuffled.workers = 3;
    ASSERT_TRUE(other.run(small_study(40), shuffled).ok());
    EXPECT_EQ(other.canonical(), bench.canonical());
  }
}

TEST(Engine, NeverExceedsABudgetOfSteps) {
  Bench bench;
  study::StudyConfig config = small_study();
  config.budget.trials.reset();
  config.budget.steps = 61;

  const auto summary = bench.run(config, {.workers = 2, .steps_per_epoch = 2});

  ASSERT_TRUE(summary.ok()) << summary.error().text();
  const StudyView view = bench.view();
  EXPECT_LE(view.steps, 61);
  EXPECT_GT(view.steps, 61 - 8);  // another trial of four epochs did not fit
  for (const TrialView& trial : view.trials) EXPECT_TRUE(trial.outcome);
}

// Epochs of three steps, the last of two: pauses, rungs and the budget of the study count what is trained.
TEST(Engine, CountsBudgetExactlyInSteps) {
  for (const char* type : {"stopping", "promotion"}) {
    Bench bench;
    study::StudyConfig config = small_study();
    config.stop.options["type"] = type;
    config.train.length.steps_per_epoch = 3;
    config.train.length.steps = 11;
    config.budget.trials.reset();
    config.budget.steps = 64;

    const auto summary = bench.run(config, {.workers = 2, .rows = 14});

    ASSERT_TRUE(summary.ok()) << summary.error().text();
    const StudyView view = bench.view();
    std::int64_t steps = 0;
    for (const TrialView& trial : view.trials) {
      ASSERT_TRUE(trial.outcome);
      if (trial.measurements.empty()) continue;
      const study::Measurement& last = trial.measurements.back();
      EXPECT_EQ(last.step, last.epoch == 4 ? 11 : 3 * last.epoch);
      steps += last.step;
    }
    EXPECT_EQ(view.steps, steps);
    EXPECT_LE(view.steps, 64);
    EXPECT_GT(view.steps, 64 - 11) << "another trial did not fit";
  }
}

TEST(Engine, RefusesUnresolvedSteps) {
  const auto refused = [](const std::function<void(study::TrainConfig&)>& change) {
    Bench bench;
    study::StudyConfig config = small_study();
    change(config.train);
    const auto summary = bench.run(config, {});
    return summary ? "" : summary.error().text();
  };
  EXPECT_EQ(refused([](auto& train) { train.length.steps_per_epoch = 0; }),
            "train.steps_per_epoch: is 0; it must be at least 1");
  EXPECT_EQ(refused([](auto& train) { train.length.steps = 0; }), "train.steps: is 0; it must be at least 1");
  for (const std::int64_t epochs : {3, 5}) {
    EXPECT_EQ(refused([&](auto& train) {
                train.length.steps = 40;
                train.length.steps_per_epoch = 10;
                train.length.epochs = epochs;
              }),
              "train.steps: are 40, and are not converted to epochs (resolve_from_data does it)");
  }
  EXPECT_NE(refused([](auto& train) { train.length.steps = 40; }), "");
}

TEST(Engine, RefusesInvalidGrowingEpochs) {
  const auto refused = [](const std::function<void(study::TrainConfig&)>& change) {
    Bench bench;
    study::StudyConfig config = small_study();
    config.train.length.all_rows_at = config.train.length.epochs;
    change(config.train);
    const auto summary = bench.run(config, {});
    return summary ? "" : summary.error().text();
  };
  EXPECT_EQ(refused([](auto&) {}), "");
  EXPECT_EQ(refused([](auto& train) {
              train.length.all_rows_at = 1;
              train.length.steps_per_epoch = 10;
            }),
            "")
      << "they do not grow";
  const std::string epochs = std::to_string(small_study().train.length.epochs);
  const std::string bounds = "it must be at least 1 and at most the " + epochs +
                             " epochs of a trial, so that one that trains to its end reads all rows";
  EXPECT_EQ(refused([](auto& train) { train.length.all_rows_at = 0; }), "train.all_rows_at: is 0; " + bounds);
  EXPECT_EQ(refused([](auto& train) { ++*train.length.all_rows_at; }),
            "train.all_rows_at: is " + std::to_string(small_study().train.length.epochs + 1) + "; " + bounds);
  EXPECT_EQ(refused([](auto& train) { train.length.steps_per_epoch = 10; }),
            "train.all_rows_at: is " + epochs +
                ", and an epoch is then a pass over a share of the rows; leave out train.steps_per_epoch");
  EXPECT_EQ(refused([](auto& train) {
              train.select = {"selective", {{"beta", 1}}};
            }),
            "train.all_rows_at: is " + epochs +
                ", and train.select remembers what all rows have lost; leave out one of the two");
}

TEST(Engine, RefusesTargetsUnlikeTheData) {
  const auto error_with = [](const std::string& targets, bool standardised) {
    Bench bench;
    bench.data.classes = 0;
    bench.data.target_size = 3;
    bench.data.labels.clear();
    if (standardised) bench.data.target_normalization = {.mean = {1, 2, 3}, .scale = {1, 2, 3}};
    study::StudyConfig config = small_study();
    config.train.loss.name = "mse";
    config.data.targets = targets;
    const auto summary = bench.run(config, {});
    return summary ? "" : summary.error().text();
  };
  EXPECT_EQ(error_with("auto", true),
            "data.targets: is auto, but the data were opened with targets standardised (resolve_from_data sets it)");
  EXPECT_EQ(
      error_with("standardize", false),
      "data.targets: is standardize, but the data were opened with targets as they are (resolve_from_data sets it)");
  EXPECT_EQ(error_with("standardize", true), "");
  EXPECT_EQ(error_with("auto", false), "");
}

/// The trials differ in nothing that costs time but their batches: of 14 rows, 14 steps an epoch or 4.
study::StudyConfig two_batches(std::int64_t trials) {
  study::StudyConfig config = small_study(trials);
  config.space.mutate.clear();
  config.stop = {"none", Options::object()};
  config.strategy = {"random", 3, Options::object()};
  const space::Domain sizes = space::Categorical{{space::Value(std::int64_t{1}), space::Value(std::int64_t{4})}};
  LANISTA_CHECK(config.space.params.add({"batch", sizes, {}}).ok(), "the test's own space");
  return config;
}

TEST(Engine, UsesEachTrialsOwnBatchForStepsAndTime) {
  Bench bench;
  ASSERT_TRUE(bench.run(two_batches(14), {.workers = 2, .rows = 14}).ok());
  std::set<std::int64_t> seen;
  double work = 0;
  const auto records = store::read_log(bench.disk, kFolder);
  ASSERT_TRUE(records.ok());
  for (const store::Record& record : *records) {
    if (record.type != store::RecordType::kProposed) continue;
    const auto batch = record.body["proposal"]["sample"]["batch"].get<std::int64_t>();
    // 14 steps of 1 row, or 4 of 4.
    const double row = record.body["logical_epoch"].get<double>() / (batch == 1 ? 14 : 16);
    if (work == 0) work = row;
    EXPECT_DOUBLE_EQ(row, work);
    seen.insert(batch);
  }
  EXPECT_EQ(seen.size(), 2U);
  for (const TrialView& trial : bench.view().trials) {
    const auto batch = std::get<std::int64_t>(trial.proposal.sample.at("batch"));
    ASSERT_FALSE(trial.measurements.empty());
    EXPECT_EQ(trial.measurements.back().step, 4 * (batch == 1 ? 14 : 4));
  }
}

TEST(Engine, NeverExceedsStepBudgetWithAnyBatch) {
  Bench bench;
  study::StudyConfig config = two_batches(1);
  config.budget.trials.reset();
  config.budget.steps = 130;
  ASSERT_TRUE(bench.run(config, {.workers = 2, .rows = 14}).ok());
  const StudyView view = bench.view();
  EXPECT_LE(view.steps, 130);
  EXPECT_GT(view.steps, 130 - 4 * 14);  // at most the longest trial did not fit
  std::set<std::int64_t> seen;
  for (const TrialView& trial : view.trials) seen.insert(std::get<std::int64_t>(trial.proposal.sample.at("batch")));
  EXPECT_EQ(seen.size(), 2U);
}

TEST(Engine, WarnsWhenSamplingFindsNothingNew) {
  Bench bench;
  study::StudyConfig config = small_study(10);
  config.space.mutate.clear();
  config.strategy = {"random", 3, Options::object()};
  config.subject_to = {*study::Constraint::parse("lr >= 2")};
  const auto summary = bench.run(config, {});
  ASSERT_TRUE(summary.ok()) << summary.error().text();
  EXPECT_EQ(summary->reason, "bad luck: 10000 samples gave nothing new (10000 of them: breaks 'lr >= 2')");
  const auto events = bench.sink.events();
  EXPECT_TRUE(
      std::any_of(events.begin(), events.end(), [](const LogEvent& event) { return event.event == "nothing_new"; }));
}

TEST(Engine, EndsWhenSpaceIsExhausted) {
  Bench bench;
  study::StudyConfig config = small_study(1000);
  config.strategy = {"grid", 3, {{"grain", 2}}};

  const auto summary = bench.run(config, {.workers = 2});

  ASSERT_TRUE(summary.ok()) << summary.error().text();
  EXPECT_EQ(summary->reason, "the strategy has nothing left to propose");
  EXPECT_EQ(bench.view().trials.size(), 6U);  // sgd: 2 x 2, adam: 2
}

TEST(Engine, RefusesAFolderThatHoldsAStudyAndNamesResume) {
  Bench bench;
  ASSERT_TRUE(bench.run(small_study(), {}).ok());
  const std::string before = bench.canonical();

  const auto again = bench.run(small_study(), {});

  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().code, Code::kAlreadyExists);
  EXPECT_NE(again.error().message.find("lanista resume " + kFolder), std::string::npos);
  EXPECT_EQ(bench.canonical(), before);
}

TEST(Engine, RefusesAFolderThatHoldsOtherThings) {
  Bench bench;
  bench.disk.put(kFolder + "/thesis.tex", "precious");

  const auto refused = bench.run(small_study(), {});

  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kAlreadyExists);
}

TEST(Engine, NamesKeyOfInvalidSetting) {
  struct Case {
    const char* where;
    std::function<void(study::StudyConfig&)> spoil;
  };
  const std::vector<Case> cases{{"strategy.name", [](auto& c) { c.strategy.name = "evolutoin"; }},
                                {"strategy.population", [](auto& c) { c.strategy.options["population"] = -1; }},
                                {"stop.rule", [](auto& c) { c.stop.rule = "asho"; }},
                                {"stop.rungs",
                                 [](auto& c) {
                                   c.stop.options["rungs"] = {3, 1};
                                 }},
                                {"space.mutate[1]", [](auto& c) { c.space.mutate[1].name = "deepn"; }},
                                {"model.base[0]", [](auto& c) { c.model.base[0] = "builtin:small-rnn"; }},
                                {"strategy.slots", [](auto& c) { c.strategy.slots = 0; }},
                                {"space", [](auto& c) { c.space.limit_params = 3; }}};
  for (const Case& wrong : cases) {
    Bench bench;
    study::StudyConfig config = small_study();
    wrong.spoil(config);
    FakeExecutor fake = bench.executor(bench.disk, {});

    const auto engine = Engine::create(kFolder, config, "", bench.numerics, bench.services(bench.disk, fake));

    ASSERT_FALSE(engine.ok()) << wrong.where;
    EXPECT_EQ(engine.error().code, Code::kInvalidArgument) << wrong.where;
    EXPECT_TRUE(engine.error().where.starts_with(wrong.where)) << engine.error().text();
    EXPECT_FALSE(bench.disk.exists(kFolder)) << wrong.where;
  }
}

}  // namespace
}  // namespace lanista::engine
