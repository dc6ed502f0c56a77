// Every kind of wrong report of a worker is refused, and honest ones pass.
#include "lanista/engine/remote/report_check.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "lanista/base/memory_file_system.h"

namespace lanista::engine {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr std::uint64_t kToken = 5;

Tensor one_value() { return {"w", ElementType::kI64, {1}, std::vector<std::byte>(8)}; }

class ReportCheckTest : public ::testing::Test {
 protected:
  ReportCheckTest() : check_({.rows = {80}, .metrics = {"val_loss"}}, 2, disk_, files_) {
    lease_.job.trial = TrialId{1};
    lease_.job.recipe.batch = 8;
    lease_.job.recipe.epochs = 4;
    lease_.token = kToken;
    lease_.is_sent = true;
    lease_.allowed = 2;
    check_.on_lease_sent(lease_);
    saved_ = *files_.put({{one_value()}, {{"measurements", "[]"}}});
  }

  static study::Measurement measurement(std::int64_t epoch) {
    return {TrialId{1}, epoch, 10 * epoch, {{"val_loss", 0.5}, {"train_loss", 0.5}}};
  }
  /// The measurement of epoch 1 with this change.
  static Report changed(const std::function<void(study::Measurement&)>& change) {
    study::Measurement out = measurement(1);
    change(out);
    return EpochReport{out};
  }
  static Report span(const std::function<void(SpanReport&)>& change) {
    SpanReport out{TrialId{1}, 1, 0, 2, 3};
    change(out);
    return out;
  }
  std::string stored_weights(std::int64_t epochs, TrialId trial = TrialId{1}) {
    auto all = nlohmann::json::array();
    for (std::int64_t epoch = 1; epoch <= epochs; ++epoch) {
      study::Measurement each = measurement(epoch);
      each.trial = trial;
      all.push_back(study::measurement_json(each));
    }
    return *files_.put({{one_value()}, {{"measurements", all.dump()}}});
  }
  Result<void> send(const Report& report) { return check_.on_report(0, kToken, report, &lease_); }
  /// Why it is refused; empty: it is not.
  std::string error_of(const Report& report) {
    const auto done = send(report);
    return done ? "" : done.error().message;
  }

  MemoryFileSystem disk_;
  store::CheckpointStore files_{disk_, "/study"};
  ReportCheck check_;
  Lease lease_;
  std::string saved_;
};

TEST_F(ReportCheckTest, AcceptsAnHonestTrial) {
  lease_.finish = Finish{TrialId{1}, true};
  EXPECT_TRUE(send(span([](SpanReport&) {})));
  EXPECT_TRUE(send(EpochReport{measurement(1)}));
  EXPECT_TRUE(send(CheckpointReport{TrialId{1}, 1, 13, saved_}));
  EXPECT_TRUE(send(changed([](study::Measurement& m) {
    m = measurement(2);
    m.metrics["val_loss"] = kNan;
    m.metrics["trained_rows"] = 8;
  }))) << "what diverged is data";
  EXPECT_TRUE(send(FinishedReport{TrialId{1}, {}, stored_weights(2)}));
}

TEST_F(ReportCheckTest, RefusesWrongEpochs) {
  EXPECT_EQ(error_of(EpochReport{measurement(2)}), "reported epoch 2 of trial 1; due is epoch 1");
  ASSERT_TRUE(send(EpochReport{measurement(1)}));
  EXPECT_EQ(error_of(EpochReport{measurement(1)}), "reported epoch 1 of trial 1; due is epoch 2");
  ASSERT_TRUE(send(EpochReport{measurement(2)}));
  EXPECT_EQ(error_of(EpochReport{measurement(3)}), "reported epoch 3 of trial 1; allowed: up to epoch 2");
}

TEST_F(ReportCheckTest, RefusesUnknownLeases) {
  const Report epoch = EpochReport{measurement(1)};
  EXPECT_FALSE(check_.on_report(0, kToken + 1, epoch, &lease_));
  EXPECT_FALSE(check_.on_report(1, kToken, epoch, &lease_)) << "given to another worker";
  study::Measurement other = measurement(1);
  other.trial = TrialId{2};
  EXPECT_EQ(check_.on_report(0, kToken, EpochReport{other}, nullptr).error().message,
            "reported trial 2 under lease 5, which is of trial 1");
  EXPECT_TRUE(check_.on_report(0, kToken, epoch, nullptr)) << "an ended lease is no offence";
  check_.on_worker_lost(0);
  EXPECT_FALSE(check_.on_report(0, kToken, epoch, &lease_));
}

TEST_F(ReportCheckTest, RefusesWrongMeasurements) {
  using M = study::Measurement;
  const std::vector<std::pair<std::string, std::function<void(M&)>>> wrong{
      {"a step 11", [](M& m) { m.step = 11; }},
      {"a step -1", [](M& m) { m.step = -1; }},
      {"without the metric 'val_loss'", [](M& m) { m.metrics.erase("val_loss"); }},
      {"without the metric 'train_loss'", [](M& m) { m.metrics.erase("train_loss"); }},
      {"the metric 'extra'", [](M& m) { m.metrics["extra"] = 1; }},
      {"with the name 'a?b'", [](M& m) { m.metrics["a\nb"] = 1; }},
      {"a start race",
       [](M& m) {
         m.race = {{1, 0.5, true}};
       }},
      {"a selection comparison", [](M& m) { m.selecting = {{}}; }},
      {"branches of a trial without train.tune", [](M& m) { m.branches = {{}}; }}};
  for (const auto& [message, change] : wrong)
    EXPECT_NE(error_of(changed(change)).find(message), std::string::npos) << message;
  EXPECT_TRUE(send(EpochReport{measurement(1)})) << "a refused report changes nothing";
}

TEST_F(ReportCheckTest, RefusesWrongSpans) {
  const std::vector<std::function<void(SpanReport&)>> wrong{
      [](SpanReport& s) { s.began = kNan; },  [](SpanReport& s) { s.ended = s.began - 1; },
      [](SpanReport& s) { s.ended = 1e300; }, [](SpanReport& s) { s.lanes = 0; },
      [](SpanReport& s) { s.width = -1; },    [](SpanReport& s) { s.costs.bytes = -1; },
      [](SpanReport& s) { s.epoch = -1; },    [](SpanReport& s) { s.device = "gpu"; }};
  for (std::size_t i = 0; i < wrong.size(); ++i) EXPECT_NE(error_of(span(wrong[i])), "") << i;
}

TEST_F(ReportCheckTest, RefusesWrongFiles) {
  const std::string missing(32, 'a');
  for (const std::string& address : {std::string(), std::string("../../etc/passwd"), std::string(32, 'A'), missing}) {
    EXPECT_NE(error_of(CheckpointReport{TrialId{1}, 0, 3, address}), "") << address;
  }
  EXPECT_NE(error_of(CheckpointReport{TrialId{1}, 5, 3, saved_}), "") << "an epoch that the recipe lacks";
  EXPECT_NE(error_of(CheckpointReport{TrialId{1}, 0, -3, saved_}), "");
  check_.add_known_file(missing);
  EXPECT_EQ(error_of(CheckpointReport{TrialId{1}, 0, 3, missing}), "") << "the engine may have removed it";
}

TEST_F(ReportCheckTest, RefusesWrongEnds) {
  const auto trained = [&] {
    check_.on_lease_sent(lease_);
    ASSERT_TRUE(send(EpochReport{measurement(1)}));
    ASSERT_TRUE(send(EpochReport{measurement(2)}));
  };
  trained();
  EXPECT_EQ(error_of(TrialPausedReport{TrialId{1}, 2, 20, {}, stored_weights(2)}),
            "paused trial 1, which was not requested");
  lease_.finish = Finish{TrialId{1}, false};
  trained();
  EXPECT_NE(error_of(FinishedReport{TrialId{1}, {}, stored_weights(2)}), "") << "weights that were not requested";
  lease_.finish = Finish{TrialId{1}, true};
  check_.on_lease_sent(lease_);
  EXPECT_EQ(error_of(FinishedReport{TrialId{1}, {}, saved_}), "finished trial 1 after epoch 0; due is epoch 2");
  trained();
  EXPECT_NE(error_of(FinishedReport{TrialId{1}, {}, ""}), "") << "without its weights";
  trained();
  EXPECT_NE(error_of(FinishedReport{TrialId{1}, {}, stored_weights(1)}), "") << "the state of another epoch";
  trained();
  EXPECT_NE(error_of(FinishedReport{TrialId{1}, {}, stored_weights(2, TrialId{2})}), "")
      << "the state of another trial";
  trained();
  EXPECT_EQ(error_of(FinishedReport{TrialId{1}, {}, stored_weights(2)}), "");
  EXPECT_NE(error_of(FinishedReport{TrialId{1}, {}, stored_weights(2)}), "") << "twice";
  EXPECT_NE(error_of(FailureReport{TrialId{1}, 3, "late"}), "") << "after its end";
  trained();
  EXPECT_NE(error_of(FailureReport{TrialId{1}, 9, "wrong epoch"}), "");
  trained();
  EXPECT_NE(error_of(FailureReport{TrialId{1}, 3, std::string(100'000, 'x')}), "");
}

TEST_F(ReportCheckTest, ComparesRepeatedEpochsWithTheCheckpoint) {
  lease_.job.checkpoint = lease_.checkpoint = stored_weights(3);
  lease_.carried_epochs = stored_measurement_hashes(*files_.get(lease_.checkpoint), lease_.job);
  ASSERT_EQ(lease_.carried_epochs.size(), 3U);
  EXPECT_NE(error_of(changed([](study::Measurement& m) { m.metrics["val_loss"] = 0.25; })), "");
  for (std::int64_t epoch = 1; epoch <= 3; ++epoch) EXPECT_EQ(error_of(EpochReport{measurement(epoch)}), "") << epoch;
  EXPECT_NE(error_of(EpochReport{measurement(4)}), "") << "beyond the checkpoint and what is allowed";
}

TEST_F(ReportCheckTest, RefusesActiveTrialsWithoutLease) {
  EXPECT_TRUE(check_.on_active_trials(0, {TrialId{1}}));
  EXPECT_FALSE(check_.on_active_trials(0, {TrialId{1}, TrialId{1}}));
  EXPECT_FALSE(check_.on_active_trials(0, {TrialId{2}}));
  EXPECT_FALSE(check_.on_active_trials(1, {TrialId{1}}));
}

TEST_F(ReportCheckTest, RefusesWrongAnswers) {
  EXPECT_TRUE(ReportCheck::on_answer({{"test_accuracy", kNan}}, data::Part::kTest));
  EXPECT_FALSE(ReportCheck::on_answer({}, data::Part::kTest));
  EXPECT_FALSE(ReportCheck::on_answer({{"val_accuracy", 1}}, data::Part::kTest));
  std::map<std::string, double> many;
  for (int i = 0; i < 300; ++i) many["test_" + std::to_string(i)] = i;
  EXPECT_FALSE(ReportCheck::on_answer(many, data::Part::kTest));
}

TEST_F(ReportCheckTest, RefusesLostProcessesWithTrials) {
  const WorkerReport lost{0, 7, false, "lost a stage", {}, 0, ""};
  EXPECT_TRUE(check_.on_stage_loss(lost));
  WorkerReport wrong = lost;
  wrong.trials = {TrialId{9}};
  EXPECT_FALSE(check_.on_stage_loss(wrong));
  wrong = lost;
  wrong.seconds = kNan;
  EXPECT_FALSE(check_.on_stage_loss(wrong));
  wrong = lost;
  wrong.has_started = true;
  EXPECT_FALSE(check_.on_stage_loss(wrong));
}

}  // namespace
}  // namespace lanista::engine
