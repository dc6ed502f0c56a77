// Step times that outlive studies: real studies store them, later studies use them, and no result depends on them.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <vector>

#include "lanista/base/log_sink.h"
#include "lanista/engine/core/resolve_from_data.h"
#include "lanista/engine/forecast/study_plan.h"
#include "lanista/engine/forecast/timing_history.h"
#include "lanista/exec/kernels/flush_to_zero.h"
#include "lanista/io/studyfile/study_file.h"
#include "support/engine/local/study_runs.h"

namespace lanista::runtime {
namespace {

using engine::testing::kFolder;
using testing::as_configured;
using testing::canonical;

constexpr const char* kTimes = "times";

study::StudyConfig small_study(const data::Dataset& data) {
  study::StudyConfig config = *studyfile::read_study(
      "model: {base: [builtin:small-mlp]}\n"
      "space: {mutate: [{widen: {by: [0.5, 2]}}], params: {lr: \"log(0.01, 0.1)\", batch: \"choice(4, 8)\"}}\n"
      "train: {epochs: 4}\ndata: {source: \"synthetic:blobs?rows=96&classes=3&features=4&seed=1\"}\n"
      "goal: maximize val_accuracy\n"
      "strategy: {name: random, slots: 4}\nstop: {rule: asha, rungs: [1, 2], eta: 2}\nbudget: {trials: 8}\n",
      "test");
  EXPECT_TRUE(engine::resolve_from_data(config, data.spec()).ok());
  return config;
}

struct ProcessResult {
  engine::RunEnd end = engine::RunEnd::kDone;
  std::string canonical;
};

/// One process of a study that saves step times in `times`, a folder of the same disk or none. It pauses after so many
/// events.
ProcessResult run_process(MemoryFileSystem& disk, FileSystem& fs, const data::Dataset& data, const std::string& times,
                          int events = 0) {
  engine::WorkerConfig worker_config;
  worker_config.study_folder = kFolder;
  worker_config.workers = 2;
  worker_config.crash_marks = false;
  worker_config.checkpoint_every = 0;
  const RealClock clock;
  const auto executor = *WorkerExecutor::create(worker_config, data, program::Operators(), disk, clock);
  std::atomic<int> pause = 0;
  engine::Observer observer;
  observer.on_event = [&, seen = 0](const auto&, const auto&) mutable { pause = ++seen == events ? 15 : pause.load(); };
  NullSink sink;
  const auto summary = as_configured(small_study(data))
                           .run_study({.fs = &fs,
                                       .clock = &clock,
                                       .sink = &sink,
                                       .executor = executor.get(),
                                       .data = &data.spec(),
                                       .pause = &pause,
                                       .observer = observer,
                                       .machine = executor->machine(),
                                       .profiles = {times, "a CPU"}});
  EXPECT_TRUE(summary.ok()) << summary.error().text();
  ProcessResult out;
  if (summary.ok()) out.end = summary->end;
  out.canonical = canonical(disk);
  return out;
}

engine::TimingHistory known_in(MemoryFileSystem& disk, std::vector<Error>& skipped) {
  return engine::TimingHistory::read(disk, kTimes, "a CPU", skipped);
}

TEST(ProfilesStudy, HasTheSameResultsWithAndWithoutStoredTimes) {
  kernels::set_flush_to_zero();
  const auto data = testing::blobs();
  MemoryFileSystem without, with;
  const ProcessResult plain = run_process(without, without, data, "");
  const ProcessResult remembering = run_process(with, with, data, kTimes);
  EXPECT_FALSE(without.exists(kTimes));
  EXPECT_EQ(remembering.canonical, plain.canonical);

  // Once more, with all times that are known by now.
  std::vector<Error> skipped;
  ASSERT_FALSE(known_in(with, skipped).empty());
  const std::string bytes = *with.read(std::string(kTimes) + "/" + with.list(kTimes)->front());
  MemoryFileSystem third;
  ASSERT_TRUE(third.make_folder(kTimes).ok());
  ASSERT_TRUE(write_atomically(third, std::string(kTimes) + "/00000000001-aa.profile", bytes));
  EXPECT_EQ(run_process(third, third, data, kTimes).canonical, plain.canonical);
  EXPECT_EQ(known_in(third, skipped).studies(), 2U);
  EXPECT_TRUE(skipped.empty());
}

TEST(ProfilesStudy, StoresProgramTimesAtPausesAndAtTheEnd) {
  kernels::set_flush_to_zero();
  const auto data = testing::blobs();
  MemoryFileSystem disk;
  EXPECT_EQ(run_process(disk, disk, data, kTimes, 9).end, engine::RunEnd::kPaused);
  std::vector<Error> skipped;
  const std::size_t before = known_in(disk, skipped).programs();
  EXPECT_GT(before, 0U);
  EXPECT_EQ(run_process(disk, disk, data, kTimes).end, engine::RunEnd::kDone);
  const auto known = known_in(disk, skipped);
  EXPECT_GE(known.programs(), before);
  EXPECT_EQ(known.studies(), 1U);

  // The first proposals of `plan` are the first trials of the study.
  const auto config = small_study(data);
  const auto models = *engine::make_model_space(config, data.spec(), ".", real_file_system());
  engine::PlanRequest request{.trials = 4, .machine = {.workers = 2, .lanes = 4}};
  const auto blind = *engine::plan_study(config, data.spec(), models, request);
  request.known = std::make_shared<engine::TimingHistory>(known);
  const auto plan = *engine::plan_study(config, data.spec(), models, request);
  EXPECT_TRUE(blind.times.empty());
  EXPECT_EQ(plan.plan, blind.plan);  // the groups do not depend on times
  ASSERT_EQ(plan.times.size(), 4U);
  for (const engine::MemberTime& time : plan.times) {
    EXPECT_TRUE(time.measured);
    EXPECT_GT(time.seconds, 0);
    EXPECT_LT(time.seconds, 10);
  }
}

// A failure of the disk with step times does not affect the study.
TEST(ProfilesStudy, EndsWhenTimesCannotBeStored) {
  kernels::set_flush_to_zero();
  const auto data = testing::blobs();
  MemoryFileSystem without;
  const ProcessResult plain = run_process(without, without, data, "");
  MemoryFileSystem barred;
  ASSERT_TRUE(write_atomically(barred, kTimes, "a file where a folder should be"));
  const ProcessResult lived = run_process(barred, barred, data, kTimes);
  EXPECT_EQ(lived.end, engine::RunEnd::kDone);
  EXPECT_EQ(lived.canonical, plain.canonical);

  MemoryFileSystem damaged;
  ASSERT_TRUE(damaged.make_folder(kTimes).ok());
  ASSERT_TRUE(write_atomically(damaged, std::string(kTimes) + "/00000000001-aa.profile", "rubbish"));
  EXPECT_EQ(run_process(damaged, damaged, data, kTimes).canonical, plain.canonical);
  std::vector<Error> skipped;
  EXPECT_FALSE(known_in(damaged, skipped).empty());
  ASSERT_EQ(skipped.size(), 1U);
  EXPECT_EQ(skipped.front().where, std::string(kTimes) + "/00000000001-aa.profile");
}

}  // namespace
}  // namespace lanista::runtime
