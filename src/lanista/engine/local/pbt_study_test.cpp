// Studies of population based training with real training. Trials fork from each other's states. Interrupted and
// resumed anywhere, on any workers and lanes, the studies end equally.
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <set>

#include "lanista/base/memory_file_system.h"
#include "lanista/engine/core/resolve_from_data.h"
#include "lanista/engine/local/repeat.h"
#include "lanista/engine/local/worker_executor.h"
#include "lanista/io/studyfile/study_file.h"
#include "support/engine/core/custom_strategy_study.h"
#include "support/engine/local/study_runs.h"

namespace lanista::runtime {
namespace {

using engine::testing::CustomStudy;
using engine::testing::kFolder;
using testing::canonical;

constexpr const char* kBlobs = R"yaml(
model: {base: builtin:small-mlp}
space: {params: {lr: log(0.001, 0.5), momentum: "range(0.1, 0.95)", schedule: "choice(constant, cosine)"}}
train: {epochs: 5, optimizer: sgd}
data: {source: "synthetic:blobs?rows=96&classes=3&features=4&seed=1", batch: 16}
strategy: {name: pbt, population: 5, interval: 1, quantile: 0.4, slots: 3}
keep: {top: 2, checkpoint_every: 0s}
)yaml";

constexpr const char* kDigits = R"yaml(
model: {base: builtin:small-mlp}
space: {params: {lr: log(0.0001, 0.1), beta1: "range(0.5, 0.99)", weight_decay: log(1e-6, 1e-2)}}
train: {epochs: 6, optimizer: adam}
data: {source: builtin:digits, batch: 64}
strategy: {name: pbt, population: 6, interval: 2, slots: 4}
keep: {top: 2, checkpoint_every: 0s}
)yaml";

class PbtStudy : public ::testing::TestWithParam<const char*> {
 protected:
  PbtStudy()
      : config(*studyfile::read_study(GetParam(), "pbt")), data(*data::open(config.data, ".", real_file_system())) {
    LANISTA_CHECK(engine::resolve_from_data(config, data.spec()).ok(), "the test's own study file");
  }
  /// One process. It requests a pause after so many events; 0: never.
  Result<engine::RunResult> run_process(MemoryFileSystem& disk, std::int64_t workers, std::int64_t lanes, int events,
                                        const std::function<void()>& on_event = {}) {
    return testing::run_process(disk, testing::as_configured(config), data, clock, {workers, lanes, events, on_event});
  }

  study::StudyConfig config;
  data::Dataset data;
  RealClock clock;
};

TEST_P(PbtStudy, GivesTheSameResultAfterKillsOnAnyWorkersAndLanes) {
  MemoryFileSystem reference;
  std::vector<std::map<std::string, std::string>> moments;
  const auto end = run_process(reference, 1, 1, 0, [&] { moments.push_back(reference.files()); });
  ASSERT_TRUE(end) << end.error().text();
  std::int64_t forks = 0;
  const engine::StudyView view = *engine::fold(*store::read_log(reference, kFolder));
  for (const engine::TrialView& trial : view.trials) {
    forks += std::ssize(trial.forks);
    ASSERT_EQ(trial.outcome->kind, study::OutcomeKind::kSucceeded) << trial.outcome->reason;
  }
  ASSERT_GE(forks, 4);

  Rng rng(3);
  MemoryFileSystem paused;
  for (bool done = false; !done;) {
    const auto summary =
        run_process(paused, rng.between(1, 4), rng.between(0, 4), static_cast<int>(rng.between(1, 15)));
    ASSERT_TRUE(summary) << summary.error().text();
    done = summary->end != engine::RunEnd::kPaused;
  }
  ASSERT_EQ(engine::testing::first_difference(canonical(paused), canonical(reference)), "");

  const char* asked = std::getenv("LANISTA_PBT_KILLS");  // 50 of the proof; a few are enough every day
  const std::size_t kills = asked == nullptr ? 6 : std::strtoul(asked, nullptr, 10);
  for (std::size_t k = 0; k < kills; ++k) {
    MemoryFileSystem killed;
    for (const auto& [path, bytes] : moments[rng.below(moments.size())]) killed.put(path, bytes);
    const auto summary = run_process(killed, rng.between(1, 4), rng.between(0, 4), 0);
    ASSERT_TRUE(summary) << summary.error().text();
    ASSERT_EQ(engine::testing::first_difference(canonical(killed), canonical(reference)), "") << k;
  }
}

TEST_P(PbtStudy, HasTrialsThatRepeatToTheBitAlongTheirLineage) {
  MemoryFileSystem disk;
  ASSERT_TRUE(run_process(disk, 2, 0, 0));
  const engine::StudyView view = *engine::fold(*store::read_log(disk, kFolder));
  const store::CheckpointStore files(disk, kFolder);
  const auto models = *engine::make_model_space(config, data.spec(), "", disk);
  std::size_t longest = 0;
  for (const engine::TrialView& trial : view.trials) {
    const std::int64_t epochs = trial.measurements.back().epoch;
    const auto line =
        *engine::lineage_jobs(view, data.spec(), trial, epochs, *models->rebuild(trial.proposal.base, {}));
    longest = std::max(longest, line.size());
    std::vector<study::Measurement> reported;
    const auto again = repeat_lineage(line, {}, data, [&](const study::Measurement& m) { reported.push_back(m); });
    ASSERT_TRUE(again) << again.error().text();
    EXPECT_EQ(again->hash, *trial.outcome->weights_hash) << trial.id.value;
    ASSERT_EQ(std::ssize(reported), epochs);
    for (const study::Measurement& each : reported) {
      const auto& logged = view.trials[each.trial.value - 1].measurements[static_cast<std::size_t>(each.epoch - 1)];
      EXPECT_EQ(study::measurement_json(each).dump(), study::measurement_json(logged).dump());
    }
    // A trial that is trained from the beginning with its last settings is another one.
    if (trial.forks.empty()) continue;
    engine::TrialView plain = trial;
    plain.forks.clear();
    const auto job = *engine::make_job(config, data.spec(), plain, *models->rebuild(trial.proposal.base, {}));
    EXPECT_NE(repeat_trial(job, epochs, {}, data, [](const study::Measurement&) {})->hash, again->hash);
  }
  EXPECT_GE(longest, 3U);
}

INSTANTIATE_TEST_SUITE_P(Data, PbtStudy, ::testing::Values(kBlobs, kDigits),
                         [](const auto& instance) { return instance.param == kBlobs ? "blobs" : "digits"; });

}  // namespace
}  // namespace lanista::runtime
