#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lanista/engine/core/executor.h"

// What tests of executors speak with: a bench's executor, and what it told.
namespace lanista::engine::testing {

/// What an executor told, by kind.
struct Told {
  std::vector<Report> all;
  std::map<TrialId, std::vector<study::Measurement>> epochs;
  std::map<TrialId, std::vector<FinishedReport>> finished;
  std::map<TrialId, CheckpointReport> checkpoints;  ///< the last of each trial
  std::map<TrialId, std::vector<ParkedReport>> parked;
  std::vector<FailureReport> failed;
  int paused = 0;

  void take(const Report& report) {
    if (std::holds_alternative<WorkerReport>(report)) return;  // may be told at any time
    all.push_back(report);
    if (const auto* epoch = std::get_if<EpochReport>(&report)) {
      epochs[epoch->measurement.trial].push_back(epoch->measurement);
    } else if (const auto* end = std::get_if<FinishedReport>(&report)) {
      finished[end->trial].push_back(*end);
    } else if (const auto* rests = std::get_if<ParkedReport>(&report)) {
      parked[rests->trial].push_back(*rests);
    } else if (const auto* saved = std::get_if<CheckpointReport>(&report)) {
      checkpoints[saved->trial] = *saved;
    } else if (const auto* failure = std::get_if<FailureReport>(&report)) {
      failed.push_back(*failure);
    } else if (std::holds_alternative<PausedReport>(report)) {
      ++paused;
    } else if (const auto* broken = std::get_if<BrokenReport>(&report)) {
      ADD_FAILURE() << "broken: " << broken->error.text();
    }
  }
};

template <class Bench>
class ExecutorConformance : public ::testing::Test {
 protected:
  static constexpr std::int64_t kEpochs = Bench::kEpochs;
  static constexpr std::size_t kMostReports = 1000;

  void start(std::uint32_t id, const std::string& checkpoint = {}, const std::string& start_at = {}) {
    Job job = bench.job(id);
    job.checkpoint = checkpoint;
    if (!start_at.empty()) job.start = study::Start{TrialId{1}, 1, "", start_at};
    const auto started = executor->start(job);
    ASSERT_TRUE(started) << started.error().text();
  }
  void allow(std::uint32_t id, std::int64_t epoch) { executor->command(Allow{TrialId{id}, epoch}); }
  void finish(std::uint32_t id, bool keep = false) { executor->command(Finish{TrialId{id}, keep, false}); }
  void park(std::uint32_t id) { executor->command(Park{TrialId{id}}); }
  void abandon(std::uint32_t id) { executor->command(Finish{TrialId{id}, false, true}); }

  /// Takes reports until `enough` holds of all that was told; then everything that still comes within a moment.
  template <class Enough>
  Told listen(Enough enough) {
    Told told;
    bool is_enough = enough(told);
    while (const auto report = executor->next(is_enough ? 0.05 : 30)) {
      told.take(*report);
      is_enough = is_enough || enough(told);
      if (told.all.size() > kMostReports) {
        ADD_FAILURE() << "no end of reports";
        return told;
      }
    }
    if (!is_enough) ADD_FAILURE() << "silence";
    return told;
  }
  Told listen() {
    return listen([](const Told&) { return true; });
  }
  static auto parks(std::size_t trials) {
    return [trials](const Told& told) { return told.parked.size() >= trials; };
  }
  static auto ends(std::size_t trials) {
    return [trials](const Told& told) { return told.finished.size() + told.failed.size() >= trials; };
  }

  void expect_epochs(const Told& told, std::uint32_t id, std::int64_t count) {
    const auto found = told.epochs.find(TrialId{id});
    const auto seen = found == told.epochs.end() ? std::vector<study::Measurement>() : found->second;
    ASSERT_EQ(seen.size(), static_cast<std::size_t>(count)) << "trial " << id;
    for (std::size_t i = 0; i < seen.size(); ++i) EXPECT_EQ(seen[i].epoch, static_cast<std::int64_t>(i) + 1);
  }

  static std::vector<std::string> texts(const std::vector<study::Measurement>& measurements) {
    std::vector<std::string> texts;
    for (const auto& each : measurements) texts.push_back(study::measurement_json(each).dump());
    return texts;
  }

  Bench bench;
  std::unique_ptr<Executor> executor = bench.make();
};

TYPED_TEST_SUITE_P(ExecutorConformance);

}  // namespace lanista::engine::testing
