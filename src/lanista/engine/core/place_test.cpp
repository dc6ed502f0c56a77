// Requests at every place of a study, each followed by kills at every moment: what the engine must settle when it comes
// back.
#include <gtest/gtest.h>

#include "support/engine/core/custom_study.h"

namespace lanista::engine {
namespace {

using testing::Bench;
using testing::Custom;
using testing::expect_no_trace_of_kills;
using testing::Files;
using testing::kFolder;
using testing::kOptions;
using testing::small_study;
using testing::Stubborn;

/// Runs a study in which somebody asks for `request` behind its event number `place`; what lay on the disk before every
/// change of a file from then on.
std::vector<Files> moments_after(Bench& bench, int place, const std::string& request,
                                 const std::function<Result<Summary>(FileSystem&)>& run) {
  std::vector<Files> moments;
  testing::WatchedFileSystem fs(bench.disk);
  bench.observer.on_event = [&, seen = 0](const StudyView&, const study::Event&) mutable {
    bench.clock.advance(1);  // so that the engine looks into control/ between any two events
    if (++seen != place) return;
    bench.disk.put(kFolder + "/control/" + request, "");
    fs.before_change = [&] { moments.push_back(bench.disk.files()); };
  };
  const auto summary = run(fs);
  EXPECT_TRUE(summary.ok()) << summary.error().text();
  return moments;
}

TEST(RequestAtAnyPlace, IsObeyedThereWhateverIsKilledAfterwards) {
  const study::StudyConfig config = small_study(8);
  std::uint64_t kills = 0, places = 0;
  for (const std::string request : {"stop-trial-1", "stop-trial-2", "stop-trial-4", "stop-trial-7", "stop"}) {
    for (int place = 2;; place += 7) {
      Bench reference;
      const auto moments =
          moments_after(reference, place, request, [&](FileSystem& fs) { return reference.run(config, kOptions, fs); });
      if (moments.empty()) break;  // the study was over before
      ++places;
      // The moments around the request all, those that follow here and there.
      for (std::size_t at = 0; at < moments.size();
           at += at < 6 ? 1 : 20 + (static_cast<std::size_t>(place) + at) % 29) {
        Bench bench;
        testing::put_all(bench.disk, moments[at]);
        FakeOptions options = kOptions;
        options.seed = ++kills;
        options.workers = static_cast<std::int64_t>(kills % 3) + 1;

        const auto summary = bench.resume(options);

        const std::string what = request + " at event " + std::to_string(place) + ", moment " + std::to_string(at);
        ASSERT_TRUE(summary.ok()) << what << ": " << summary.error().text();
        ASSERT_EQ(bench.canonical(), reference.canonical()) << what;
      }
    }
  }
  EXPECT_GT(places, 20U);
  EXPECT_GT(kills, 150U);
}

/// Another strategy with a will of its own in its verdicts: the next decision depends on when it is asked, and some
/// trials are stopped at epochs for which no decision was announced.
class Moody final : public strategy::Strategy {
 public:
  explicit Moody(std::unique_ptr<strategy::Strategy> inner) : inner_(std::move(inner)) {}
  std::string_view name() const override { return "moody"; }
  Result<strategy::Suggestion> suggest(const strategy::Capacity& capacity) const override {
    return inner_->suggest(capacity);
  }
  void observe(const study::Event& event) override {
    ++events_;
    if (const auto* m = std::get_if<study::Measured>(&event)) epoch_[m->measurement.trial] = m->measurement.epoch;
    inner_->observe(event);
  }
  strategy::Ruling verdict(TrialId trial) const override {
    const auto it = epoch_.find(trial);
    const std::int64_t epoch = it == epoch_.end() ? 0 : it->second;
    return {(trial.value * 7 + epoch * 3 + events_) % 5 == 0 ? study::Verdict::kStop : study::Verdict::kContinue,
            epoch + 1 + (static_cast<std::int64_t>(trial.value) + events_) % 3};
  }

 private:
  std::unique_ptr<strategy::Strategy> inner_;
  std::map<TrialId, std::int64_t> epoch_;
  std::int64_t events_ = 0;
};

/// An event behind which a trial has done its last epoch and has no outcome yet, while another one runs.
struct Gap {
  int place = 0;
  TrialId other;
};

std::vector<Gap> gaps_of(const Custom& custom) {
  Bench bench;
  std::set<TrialId> running;
  std::map<TrialId, std::vector<Gap>> last;  // behind each trial's last measurement so far
  std::vector<Gap> gaps;
  bench.observer.on_event = [&, place = 0](const StudyView&, const study::Event& event) mutable {
    ++place;
    if (const auto* proposed = std::get_if<study::Proposed>(&event)) {
      running.insert(proposed->trial);
    } else if (const auto* measured = std::get_if<study::Measured>(&event)) {
      std::vector<Gap>& behind = last[measured->measurement.trial];
      behind.clear();
      for (const TrialId id : running) {
        if (id != measured->measurement.trial) behind.push_back({place, id});
      }
    } else if (const auto* ended = std::get_if<study::Ended>(&event)) {
      running.erase(ended->trial);
      if (!ended->outcome.weights_hash) return;  // it ended at once
      const std::vector<Gap>& behind = last[ended->trial];
      gaps.insert(gaps.end(), behind.begin(), behind.end());
    }
  };
  EXPECT_TRUE(custom.go_on(bench, 0).ok());
  return gaps;
}

// A request for another trial puts records, and events that the strategy sees, between a trial's last measurement or
// verdict and its outcome.
TEST(RequestAtAnyPlace, LeavesWhatWasSettledBeforeItAsItWas) {
  study::StudyConfig config = small_study(8);
  config.budget.guard_minutes = 10;  // ends a study that waits for a trial which nobody trains
  const Custom asha{config, [&](const auto& models) { return *make_strategy(config, models); }};
  const Custom moody{config,
                     [&](const auto& models) { return std::make_unique<Moody>(*make_strategy(config, models)); }};
  for (const Custom& custom : {asha, moody}) {
    std::uint64_t kills = 0;
    for (const Gap& gap : gaps_of(custom)) {
      Bench reference;
      const std::string request = "stop-trial-" + std::to_string(gap.other.value);
      auto moments =
          moments_after(reference, gap.place, request, [&](FileSystem& fs) { return custom.go_on(reference, 0, fs); });
      moments.resize(std::min<std::size_t>(moments.size(), 12));
      for (std::size_t at = 0; at < moments.size(); ++at) {
        Bench bench;
        testing::put_all(bench.disk, moments[at]);
        const auto summary = custom.go_on(bench, ++kills);
        const std::string what = request + " at event " + std::to_string(gap.place) + ", moment " + std::to_string(at);
        ASSERT_TRUE(summary.ok()) << what << ": " << summary.error().text();
        ASSERT_EQ(bench.canonical(), reference.canonical()) << what;
      }
    }
    EXPECT_GT(kills, 40U);
  }
}

TEST(Resume, KeepsToTheDecisionsThatWereAnnounced) {
  const Custom moody{small_study(10), [](const auto& models) {
                       return std::make_unique<Moody>(*make_strategy(small_study(10), models));
                     }};
  Bench bench;
  ASSERT_TRUE(moody.go_on(bench, 0).ok());
  int surprised = 0;
  for (const TrialView& trial : bench.view().trials) {
    if (trial.outcome->kind != study::OutcomeKind::kStopped) continue;
    surprised += trial.outcome->weights_hash ? 0 : 1;
  }
  ASSERT_GT(surprised, 0);
  expect_no_trace_of_kills(moody, 1);
}

TEST(Resume, CountsDuplicatesInARowFromBeforeTheKill) {
  study::StudyConfig config = small_study(1'000'000);
  config.strategy.slots = 2;
  const Custom stubborn{config, [](const std::shared_ptr<const mutate::ModelSpace>& models) {
                          study::Proposal proposal;
                          proposal.base_hash = proposal.graph_hash = models->base(0).hash;
                          proposal.budget = 2;
                          return std::make_unique<Stubborn>(proposal);
                        }};
  Bench bench;
  ASSERT_TRUE(stubborn.go_on(bench, 0).ok());
  EXPECT_EQ(bench.view().end_reason, "the strategy proposes only what was tried before");
  EXPECT_EQ(bench.view().trials.size(), 1U + 2 * kMaxDuplicatesInARow);
  expect_no_trace_of_kills(stubborn, 331);
}

}  // namespace
}  // namespace lanista::engine
