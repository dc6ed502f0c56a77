// One trial on several worker processes has the bits of one thread, although workers join, leave or are killed.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/types.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "lanista/base/check.h"
#include "lanista/base/memory_file_system.h"
#include "lanista/base/rng.h"
#include "lanista/engine/local/worker_executor.h"
#include "lanista/engine/local/worker_process.h"
#include "lanista/engine/remote/process_executor.h"
#include "support/engine/local/data_parallel_trials_support.h"

namespace lanista::runtime {
namespace {

class DataParallelTrials : public ::testing::Test {
 protected:
  DataParallelTrials() {
    std::string pattern = (std::filesystem::temp_directory_path() / "lanista_wide_XXXXXX").string();
    LANISTA_CHECK(::mkdtemp(pattern.data()) != nullptr, "no temporary folder");
    worker_config.study_folder = pattern;
    worker_config.data.hash = data.spec().hash;
    worker_config.numeric_class = program::cpu_backend().numeric_class();
    worker_config.checkpoint_every = 0.1;
    worker_config.crash_marks = false;
  }
  ~DataParallelTrials() override { std::filesystem::remove_all(worker_config.study_folder); }

  std::unique_ptr<engine::ProcessExecutor> processes(std::int64_t workers, std::int64_t width) {
    engine::WorkerConfig of_them = worker_config;
    of_them.workers = workers;
    of_them.width = width;
    engine::ProcessOptions how;
    how.launch = engine::launch_function([](const std::string& socket) {
      static_cast<void>(engine::run_worker(socket, make_process_worker(program::Operators())));
    });
    return *engine::ProcessExecutor::create(of_them, real_file_system(), clock, how);
  }
  /// On one thread.
  TrainingOutcome alone(const std::vector<engine::Job>& jobs) {
    MemoryFileSystem disk;
    engine::WorkerConfig one = worker_config;
    one.study_folder = "study";
    one.workers = 1;
    return train_all(**WorkerExecutor::create(one, data, program::Operators(), disk, clock), jobs);
  }

  data::Dataset data = *data::open({}, ".", real_file_system());
  RealClock clock;
  engine::WorkerConfig worker_config;
};

void expect_same(const TrainingOutcome& seen, const TrainingOutcome& wanted) {
  EXPECT_EQ(seen.states, wanted.states);
  for (const auto& [trial, measured] : wanted.measured) {
    const auto& ours = seen.measured.at(trial);
    ASSERT_EQ(ours.size(), measured.size());
    for (std::size_t i = 0; i < measured.size(); ++i) EXPECT_EQ(ours[i].metrics, measured[i].metrics);
  }
}

TEST_F(DataParallelTrials, HaveTheBitsOfOneThreadAtEveryWidth) {
  const std::vector<engine::Job> jobs{data_parallel_job(1, 3)};
  const TrainingOutcome wanted = alone(jobs);
  for (const auto& [workers, width] : {std::pair(1, 1), std::pair(2, 1), std::pair(2, 2), std::pair(3, 3)}) {
    SCOPED_TRACE(std::to_string(workers) + " workers, width " + std::to_string(width));
    const TrainingOutcome seen = train_all(*processes(workers, width), jobs);
    EXPECT_EQ(seen.num_parallel_spans > 0, width > 1);
    expect_same(seen, wanted);
  }
}

// Workers that end their own trials help those of others, and trials without shards have no helpers.
TEST_F(DataParallelTrials, ShareWorkersWithOtherTrials) {
  std::vector<engine::Job> jobs;
  for (std::uint32_t id = 1; id <= 5; ++id) jobs.push_back(data_parallel_job(id, id == 2 ? 1 : 2));
  const TrainingOutcome wanted = alone(jobs);
  const TrainingOutcome seen = train_all(*processes(2, 2), jobs);
  expect_same(seen, wanted);
}

// Step times are measured alone and shared, with stored times of both. Processes are killed in between.
TEST_F(DataParallelTrials, HaveTheSameBitsAtMeasuredWidths) {
  const std::vector<engine::Job> jobs{data_parallel_job(1, 2, kLongTrialEpochs), data_parallel_job(2, 1)};
  const TrainingOutcome wanted = alone(jobs);
  Rng rng(12);
  std::int64_t losses = 0;
  for (int study = 0; study < 3; ++study) {
    const auto executor = processes(2, study::kAutoWidth);
    double due = clock.now() + 0.2;
    int kills = study == 0 ? 0 : 4;
    const TrainingOutcome seen = train_all(*executor, jobs, [&](const TrainingOutcome&) {
      if (kills == 0 || clock.now() < due) return;
      const pid_t process = executor->process(static_cast<std::size_t>(rng.below(2)));
      if (process <= 0) return;
      ::kill(process, SIGKILL);
      --kills;
      due = clock.now() + rng.uniform(0.02, 0.15);
    });
    EXPECT_GE(seen.num_parallel_spans, study == 0 ? 2 : 0);  // it was tried
    losses += seen.losses;
    expect_same(seen, wanted);
  }
  EXPECT_GE(losses, 4);
}

// Kills the leader or the helper, at random moments while both work on the trial.
TEST_F(DataParallelTrials, HaveTheSameBitsAfterAnyKill) {
  const std::vector<engine::Job> jobs{data_parallel_job(1, 2, kLongTrialEpochs)};
  const TrainingOutcome wanted = alone(jobs);
  Rng rng(11);
  std::int64_t losses = 0;
  for (int study = 0; study < 8; ++study) {
    const auto executor = processes(2, 2);
    std::int64_t wide_before = 0;
    double due = 0;  // the next kill; 0: not before they work together again
    int kills = 4;
    const TrainingOutcome seen = train_all(*executor, jobs, [&](const TrainingOutcome& now) {
      if (due == 0 && now.num_parallel_spans > wide_before) due = clock.now() + rng.uniform(0, 0.03);
      if (kills == 0 || due == 0 || clock.now() < due) return;
      const pid_t process = executor->process(static_cast<std::size_t>(rng.below(2)));
      if (process <= 0) return;
      ::kill(process, SIGKILL);
      --kills;
      due = 0;
      wide_before = now.num_parallel_spans + 3;  // those that are on their way
    });
    losses += seen.losses;
    expect_same(seen, wanted);
  }
  EXPECT_GE(losses, 20);
}

// One trial changes repeatedly between one and two workers: the helper leaves for a short trial and returns.
// LANISTA_RESIZES sets how often.
TEST_F(DataParallelTrials, HaveTheSameBitsHoweverOftenTheyAreResized) {
  const char* setting = std::getenv("LANISTA_RESIZES");
  const std::int64_t wanted = setting == nullptr ? 5 : std::strtoll(setting, nullptr, 10);
  constexpr std::int64_t kMany = 100000, kAhead = 40, kShort = 3;  // epochs
  const engine::Job job = data_parallel_job(1, 2, kMany);
  std::int64_t resizes = 0, through = 0;
  std::uint32_t others = 0;
  Digest wide;
  {
    const auto executor = processes(2, 2);
    ASSERT_TRUE(executor->start(job));
    executor->command(engine::Allow{job.trial, through = kAhead});
    bool is_wide = false, is_called = false, ends = false;
    while (wide == Digest{}) {
      const auto report = executor->next(30);
      ASSERT_TRUE(report) << "no report after " << resizes << " resizes";
      const auto* epoch = std::get_if<engine::EpochReport>(&*report);
      if (epoch != nullptr && epoch->measurement.trial == job.trial && !ends) {
        ends = resizes >= wanted;
        if (ends) executor->command(engine::Finish{job.trial, false, false});
        if (!ends) executor->command(engine::Allow{job.trial, through = epoch->measurement.epoch + kAhead});
      }
      const auto* span = std::get_if<engine::SpanReport>(&*report);
      if (span != nullptr && span->trial == job.trial) {
        const bool was_wide = std::exchange(is_wide, span->width > 1);
        if (was_wide && !is_wide) ++resizes;
        if (is_wide && !ends && !std::exchange(is_called, true)) {
          const engine::Job other = data_parallel_job(2 + others++, 1, kShort);
          ASSERT_TRUE(executor->start(other));
          executor->command(engine::Allow{other.trial, kShort});
          executor->command(engine::Finish{other.trial, false, false});
        }
      }
      if (const auto* finished = std::get_if<engine::FinishedReport>(&*report)) {
        if (finished->trial == job.trial) wide = finished->state_hash;
        if (finished->trial != job.trial) is_called = false;
      }
      if (const auto* failure = std::get_if<engine::FailureReport>(&*report)) FAIL() << failure->reason;
    }
  }
  MemoryFileSystem disk;
  engine::WorkerConfig one = worker_config;
  one.study_folder = "study";
  one.workers = 1;
  const auto thread = *WorkerExecutor::create(one, data, program::Operators(), disk, clock);
  ASSERT_TRUE(thread->start(job));
  thread->command(engine::Allow{job.trial, through});
  thread->command(engine::Finish{job.trial, false, false});
  Digest narrow;
  while (narrow == Digest{}) {
    const auto report = thread->next(30);
    ASSERT_TRUE(report);
    if (const auto* finished = std::get_if<engine::FinishedReport>(&*report)) narrow = finished->state_hash;
  }
  EXPECT_EQ(wide, narrow) << through << " epochs";
  EXPECT_GE(resizes, wanted);
}

}  // namespace
}  // namespace lanista::runtime
