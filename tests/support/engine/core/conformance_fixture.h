#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lanista/engine/core/executor.h"

// Fixture of the conformance tests: the executor of a bench, and its reports.
namespace lanista::engine::testing {

/// Reports of an executor, by kind.
struct ReportLog {
  std::vector<Report> all;
  std::map<TrialId, std::vector<study::Measurement>> epochs;
  std::map<TrialId, std::vector<FinishedReport>> finished;
  std::map<TrialId, CheckpointReport> checkpoints;  ///< Last checkpoint of each trial.
  std::map<TrialId, std::vector<TrialPausedReport>> paused_trials;
  std::vector<FailureReport> failed;
  int paused = 0;

  void add(const Report& report) {
    if (std::holds_alternative<WorkerReport>(report)) return;  // May arrive at any time.
    all.push_back(report);
    if (const auto* epoch = std::get_if<EpochReport>(&report)) {
      epochs[epoch->measurement.trial].push_back(epoch->measurement);
    } else if (const auto* end = std::get_if<FinishedReport>(&report)) {
      finished[end->trial].push_back(*end);
    } else if (const auto* pause_report = std::get_if<TrialPausedReport>(&report)) {
      paused_trials[pause_report->trial].push_back(*pause_report);
    } else if (const auto* saved = std::get_if<CheckpointReport>(&report)) {
      checkpoints[saved->trial] = *saved;
    } else if (const auto* failure = std::get_if<FailureReport>(&report)) {
      failed.push_back(*failure);
    } else if (std::holds_alternative<AllPausedReport>(report)) {
      ++paused;
    } else if (const auto* broken = std::get_if<ExecutorErrorReport>(&report)) {
      ADD_FAILURE() << "broken: " << broken->error.text();
    }
  }
};

template <class TestBench>
class ExecutorConformance : public ::testing::Test {
 protected:
  static constexpr std::int64_t kEpochs = TestBench::kEpochs;
  static constexpr std::size_t kMaxReports = 1000;

  void start(std::uint32_t id, const std::string& checkpoint = {}, const std::string& start_address = {}) {
    Job job = bench.job(id);
    job.checkpoint = checkpoint;
    if (!start_address.empty()) job.start = study::Start{TrialId{1}, 1, "", start_address};
    const auto started = executor->start(job);
    ASSERT_TRUE(started) << started.error().text();
  }
  void allow(std::uint32_t id, std::int64_t epoch) { executor->command(Allow{TrialId{id}, epoch}); }
  void finish(std::uint32_t id, bool keep = false) { executor->command(Finish{TrialId{id}, keep, false}); }
  void pause_trial(std::uint32_t id) { executor->command(PauseTrial{TrialId{id}}); }
  void abandon(std::uint32_t id) { executor->command(Finish{TrialId{id}, false, true}); }

  /// Reads reports until `enough` is true for them, and then everything that arrives within a moment.
  template <class IsEnough>
  ReportLog collect_reports(IsEnough enough) {
    ReportLog log;
    bool is_enough = enough(log);
    while (const auto report = executor->next(is_enough ? 0.05 : 30)) {
      log.add(*report);
      is_enough = is_enough || enough(log);
      if (log.all.size() > kMaxReports) {
        ADD_FAILURE() << "no end of reports";
        return log;
      }
    }
    if (!is_enough) ADD_FAILURE() << "silence";
    return log;
  }
  ReportLog collect_reports() {
    return collect_reports([](const ReportLog&) { return true; });
  }
  static auto has_paused(std::size_t trials) {
    return [trials](const ReportLog& log) { return log.paused_trials.size() >= trials; };
  }
  static auto has_ended(std::size_t trials) {
    return [trials](const ReportLog& log) { return log.finished.size() + log.failed.size() >= trials; };
  }

  void expect_epochs(const ReportLog& log, std::uint32_t id, std::int64_t count) {
    const auto found = log.epochs.find(TrialId{id});
    const auto seen = found == log.epochs.end() ? std::vector<study::Measurement>() : found->second;
    ASSERT_EQ(seen.size(), static_cast<std::size_t>(count)) << "trial " << id;
    for (std::size_t i = 0; i < seen.size(); ++i) EXPECT_EQ(seen[i].epoch, static_cast<std::int64_t>(i) + 1);
  }

  static std::vector<std::string> texts(const std::vector<study::Measurement>& measurements) {
    std::vector<std::string> texts;
    for (const auto& each : measurements) texts.push_back(study::measurement_json(each).dump());
    return texts;
  }

  TestBench bench;
  std::unique_ptr<Executor> executor = bench.make();
};

TYPED_TEST_SUITE_P(ExecutorConformance);

}  // namespace lanista::engine::testing
