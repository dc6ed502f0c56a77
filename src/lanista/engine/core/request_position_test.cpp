// Requests at every position of a study, each followed by kills at every moment, and the engine's work on resume.
#include <gtest/gtest.h>

#include "support/engine/core/custom_strategy_study.h"

namespace lanista::engine {
namespace {

using testing::Bench;
using testing::CustomStudy;
using testing::expect_resumes_from_every_change;
using testing::Files;
using testing::kFolder;
using testing::kOptions;
using testing::RepeatingStrategy;
using testing::small_study;

/// Runs a study with `request` after event number `event_number`. Returns the files on the disk before each later
/// change of a file.
std::vector<Files> snapshots_after_request(Bench& bench, int event_number, const std::string& request,
                                           const std::function<Result<RunResult>(FileSystem&)>& run) {
  std::vector<Files> snapshots;
  testing::WatchedFileSystem fs(bench.disk);
  bench.observer.on_event = [&, seen = 0](const StudyView&, const study::Event&) mutable {
    bench.clock.advance(1);  // so that the engine looks into control/ between any two events
    if (++seen != event_number) return;
    bench.disk.put(kFolder + "/control/" + request, "");
    fs.on_change = [&] { snapshots.push_back(bench.disk.files()); };
  };
  const auto summary = run(fs);
  EXPECT_TRUE(summary.ok()) << summary.error().text();
  return snapshots;
}

TEST(RequestAtAnyPosition, IsAppliedDespiteLaterKills) {
  const study::StudyConfig config = small_study(8);
  std::uint64_t kills = 0, num_positions = 0;
  for (const std::string request : {"stop-trial-1", "stop-trial-2", "stop-trial-4", "stop-trial-7", "stop"}) {
    for (int event_number = 2;; event_number += 7) {
      Bench reference;
      const auto snapshots = snapshots_after_request(
          reference, event_number, request, [&](FileSystem& fs) { return reference.run(config, kOptions, fs); });
      if (snapshots.empty()) break;  // the study was over before
      ++num_positions;
      // The moments around the request all, those that follow here and there.
      for (std::size_t at = 0; at < snapshots.size();
           at += at < 6 ? 1 : 20 + (static_cast<std::size_t>(event_number) + at) % 29) {
        Bench bench;
        testing::put_all(bench.disk, snapshots[at]);
        FakeOptions options = kOptions;
        options.seed = ++kills;
        options.workers = static_cast<std::int64_t>(kills % 3) + 1;

        const auto summary = bench.resume(options);

        const std::string what =
            request + " at event " + std::to_string(event_number) + ", moment " + std::to_string(at);
        ASSERT_TRUE(summary.ok()) << what << ": " << summary.error().text();
        ASSERT_EQ(bench.canonical(), reference.canonical()) << what;
      }
    }
  }
  EXPECT_GT(num_positions, 20U);
  EXPECT_GT(kills, 150U);
}

/// Another strategy with a will of its own in its verdicts: the next decision depends on when it is asked, and some
/// trials are stopped at epochs for which no decision was announced.
class StatefulVerdictStrategy final : public search::Strategy {
 public:
  explicit StatefulVerdictStrategy(std::unique_ptr<search::Strategy> inner) : inner_(std::move(inner)) {}
  std::string_view name() const override { return "moody"; }
  Result<search::Suggestion> suggest(const search::Capacity& capacity) const override {
    return inner_->suggest(capacity);
  }
  void observe(const study::Event& event) override {
    ++events_;
    if (const auto* m = std::get_if<study::Measured>(&event)) epoch_[m->measurement.trial] = m->measurement.epoch;
    inner_->observe(event);
  }
  search::TrialVerdict verdict(TrialId trial) const override {
    const auto it = epoch_.find(trial);
    const std::int64_t epoch = it == epoch_.end() ? 0 : it->second;
    return {(trial.value * 7 + epoch * 3 + events_) % 5 == 0 ? study::Verdict::kStop : study::Verdict::kContinue,
            epoch + 1 + (static_cast<std::int64_t>(trial.value) + events_) % 3};
  }

 private:
  std::unique_ptr<search::Strategy> inner_;
  std::map<TrialId, std::int64_t> epoch_;
  std::int64_t events_ = 0;
};

/// An event after which a trial has done its last epoch and has no outcome yet, while another one runs.
struct UnannouncedStop {
  int event_number = 0;
  TrialId other;
};

std::vector<UnannouncedStop> unannounced_stops(const CustomStudy& custom) {
  Bench bench;
  std::set<TrialId> running;
  std::map<TrialId, std::vector<UnannouncedStop>> last;  // after each trial's last measurement so far
  std::vector<UnannouncedStop> unannounced_stops;
  bench.observer.on_event = [&, event_number = 0](const StudyView&, const study::Event& event) mutable {
    ++event_number;
    if (const auto* proposed = std::get_if<study::Proposed>(&event)) {
      running.insert(proposed->trial);
    } else if (const auto* measured = std::get_if<study::Measured>(&event)) {
      std::vector<UnannouncedStop>& after_last = last[measured->measurement.trial];
      after_last.clear();
      for (const TrialId id : running) {
        if (id != measured->measurement.trial) after_last.push_back({event_number, id});
      }
    } else if (const auto* ended = std::get_if<study::Ended>(&event)) {
      running.erase(ended->trial);
      if (!ended->outcome.weights_hash) return;  // it ended at once
      const std::vector<UnannouncedStop>& after_last = last[ended->trial];
      unannounced_stops.insert(unannounced_stops.end(), after_last.begin(), after_last.end());
    }
  };
  EXPECT_TRUE(custom.run_study(bench, 0).ok());
  return unannounced_stops;
}

// A request for another trial puts records, and events that the strategy sees, between a trial's last measurement or
// verdict and its outcome.
TEST(RequestAtAnyPosition, KeepsEarlierDecisions) {
  study::StudyConfig config = small_study(8);
  config.budget.guard_minutes = 10;  // ends a study that waits for a trial which no worker trains
  const CustomStudy asha{config, [&](const auto& models) { return *make_strategy(config, models); }};
  const CustomStudy stateful{config, [&](const auto& models) {
                               return std::make_unique<StatefulVerdictStrategy>(*make_strategy(config, models));
                             }};
  for (const CustomStudy& custom : {asha, stateful}) {
    std::uint64_t kills = 0;
    for (const UnannouncedStop& unannounced_stop : unannounced_stops(custom)) {
      Bench reference;
      const std::string request = "stop-trial-" + std::to_string(unannounced_stop.other.value);
      auto snapshots = snapshots_after_request(reference, unannounced_stop.event_number, request,
                                               [&](FileSystem& fs) { return custom.run_study(reference, 0, fs); });
      snapshots.resize(std::min<std::size_t>(snapshots.size(), 12));
      for (std::size_t at = 0; at < snapshots.size(); ++at) {
        Bench bench;
        testing::put_all(bench.disk, snapshots[at]);
        const auto summary = custom.run_study(bench, ++kills);
        const std::string what =
            request + " at event " + std::to_string(unannounced_stop.event_number) + ", moment " + std::to_string(at);
        ASSERT_TRUE(summary.ok()) << what << ": " << summary.error().text();
        ASSERT_EQ(bench.canonical(), reference.canonical()) << what;
      }
    }
    EXPECT_GT(kills, 40U);
  }
}

TEST(Resume, KeepsAnnouncedDecisions) {
  const CustomStudy stateful{
      small_study(10), [](const auto& models) {
        return std::make_unique<StatefulVerdictStrategy>(*make_strategy(small_study(10), models));
      }};
  Bench bench;
  ASSERT_TRUE(stateful.run_study(bench, 0).ok());
  int surprised = 0;
  for (const TrialView& trial : bench.view().trials) {
    if (trial.outcome->kind != study::OutcomeKind::kStopped) continue;
    surprised += trial.outcome->weights_hash ? 0 : 1;
  }
  ASSERT_GT(surprised, 0);
  expect_resumes_from_every_change(stateful, 1);
}

TEST(Resume, CountsDuplicatesAcrossKill) {
  study::StudyConfig config = small_study(1'000'000);
  config.strategy.slots = 2;
  const CustomStudy repeating{config, [](const std::shared_ptr<const mutate::ModelSpace>& models) {
                                study::Proposal proposal;
                                proposal.base_hash = proposal.graph_hash = models->base(0).hash;
                                proposal.budget = 2;
                                return std::make_unique<RepeatingStrategy>(proposal);
                              }};
  Bench bench;
  ASSERT_TRUE(repeating.run_study(bench, 0).ok());
  EXPECT_EQ(bench.view().end_reason, "the strategy proposes only what was tried before");
  EXPECT_EQ(bench.view().trials.size(), 1U + 2 * kMaxDuplicatesInARow);
  expect_resumes_from_every_change(repeating, 331);
}

}  // namespace
}  // namespace lanista::engine
