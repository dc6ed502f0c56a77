// Workers that are short of memory, of disk and of threads.
#include <algorithm>
#include <atomic>
#include <new>
#include <optional>
#include <set>
#include <system_error>

#include "lanista/base/memory_file_system.h"
#include "lanista/model/graph/text.h"
#include "lanista/model/ops/op_rules.h"
#include "support/base/faulty_file_system.h"
#include "support/engine/local/worker_test_support.h"

namespace lanista::runtime {
namespace {

using WorkerMemory = WorkerExecutorTest;

/// Bytes of a program of one lane, and of the state of a trial.
struct Sizes {
  std::int64_t program = 0, state = 0;
};
Sizes sizes_of(train::TrainerInput input) {
  MemoryBudget budget;
  input.budget = &budget;
  const auto group = train::LaneGroup::create(input, 1);
  Sizes sizes{budget.used(), 0};
  auto run = train::TrialRun::create(input);
  EXPECT_TRUE(group->admit(*run));
  sizes.state = budget.used() - sizes.program;
  return sizes;
}

// With memory for one program and one state, trials take turns: each waits in the store while another trains.
TEST_F(WorkerMemory, SpillsIdleTrialsToTheStoreWhenMemoryIsShort) {
  const auto step_ops = autodiff::training_ops(ops_.table());
  const Sizes sizes = sizes_of(input(job(1), step_ops));
  for (const std::int64_t workers : {1, 2}) {
    MemoryFileSystem disk;
    FaultyFileSystem counting(disk, {});
    engine::WorkerConfig worker_config = one_lane(workers);
    worker_config.memory_bytes = sizes.program + sizes.state * 3 / 2;
    auto executor = make(worker_config, counting, clock_);

    expect_trained(*executor, 3);

    // Only spilled states are written here. A trial that resumes removes its file.
    EXPECT_GT(counting.calls(), 0);
    EXPECT_EQ(*disk.list(folder_ + "/ckpt"), std::vector<std::string>());
  }
}

TEST_F(WorkerMemory, ReportsAStoreThatCannotHoldASpilledTrial) {
  const auto step_ops = autodiff::training_ops(ops_.table());
  const Sizes sizes = sizes_of(input(job(1), step_ops));
  MemoryFileSystem disk;
  FaultyFileSystem full(disk, {.at = 0});
  engine::WorkerConfig worker_config = one_lane(1);
  worker_config.memory_bytes = sizes.program + sizes.state * 3 / 2;
  auto executor = make(worker_config, full, clock_);
  for (std::uint32_t id = 1; id <= 2; ++id) {
    ASSERT_TRUE(executor->start(job(id)));
    executor->command(engine::Allow{TrialId{id}, kEpochs});
  }

  for (const auto& report : drain(*executor, 1)) {
    if (const auto* broken = std::get_if<engine::ExecutorErrorReport>(&report)) {
      EXPECT_NE(broken->error.message.find("No space left on device"), std::string::npos) << broken->error.text();
      return;
    }
  }
  FAIL() << "no report arrived";
}

TEST_F(WorkerMemory, FailsATrialThatDoesNotFitAlone) {
  const auto step_ops = autodiff::training_ops(ops_.table());
  engine::WorkerConfig worker_config = one_lane(2);
  worker_config.memory_bytes = sizes_of(input(job(1), step_ops)).program - 1;
  auto executor = make(worker_config);
  ASSERT_TRUE(executor->start(job(1)));
  executor->command(engine::Allow{TrialId{1}, 1});

  const auto report = executor->next(20);

  ASSERT_TRUE(report);
  ASSERT_TRUE(std::holds_alternative<engine::FailureReport>(*report));
}

// Programs that wait for trials, and trials that wait for verdicts, hold the memory that a test needs.
TEST_F(WorkerMemory, TestsInTheMemoryOfWaitingTrials) {
  const auto step_ops = autodiff::training_ops(ops_.table());
  const Sizes sizes = sizes_of(input(job(1), step_ops));
  std::set<std::map<std::string, double>> tested;
  for (const std::int64_t workers : {1, 2, 4}) {
    engine::WorkerConfig worker_config = one_lane(workers);
    worker_config.memory_bytes = sizes.program + sizes.state * 5 / 2;
    auto executor = make(worker_config);
    for (std::uint32_t id = 1; id <= 2; ++id) {
      ASSERT_TRUE(executor->start(job(id)));
      executor->command(engine::Allow{TrialId{id}, 1});
    }
    executor->command(engine::Finish{TrialId{1}, true});
    std::string weights;
    for (const auto& report : drain(*executor, 1)) {
      if (const auto* done = std::get_if<engine::FinishedReport>(&report)) weights = done->weights;
    }

    const auto metrics = executor->test(job(1), weights);

    ASSERT_TRUE(metrics) << metrics.error().text();
    tested.insert(*metrics);
    executor->command(engine::Allow{TrialId{2}, kEpochs});
    executor->command(engine::Finish{TrialId{2}, false});
    for (const auto& report : drain(*executor, 1)) {
      const auto* done = std::get_if<engine::FinishedReport>(&report);
      if (done == nullptr) continue;
      EXPECT_EQ(done->state_hash, trained_alone(2, step_ops));
    }
  }
  EXPECT_EQ(tested.size(), 1U);
}

/// The identity, or out of memory if a flag is set.
struct MemoryHungryOperator {
  std::shared_ptr<std::atomic<bool>> dry;
  template <class T>
  void forward(const program::OpaqueCall<T>& call) const {
    if (*dry) throw std::bad_alloc();
    std::ranges::copy(call.inputs[0], call.results[0].begin());
  }
  template <class T>
  void backward(const program::OpaqueCall<T>& call) const {
    std::ranges::copy(call.dy, call.results[0].begin());
  }
};

TEST_F(WorkerMemory, TurnsExceptionsOfATestIntoErrors) {
  const auto dry = std::make_shared<std::atomic<bool>>(false);
  graph::OpDef thirsty;
  thirsty.name = "thirsty";
  thirsty.help = "The identity.";
  thirsty.infer = graph::ops::infer_same;
  ASSERT_TRUE(ops_.add(thirsty, MemoryHungryOperator{dry}));
  auto executor = make();
  auto own = job(1);
  own.model = *graph::parse(
      "%0 = input(shape=[1,8,8])\n%1 = flatten(%0)\n%2 = thirsty(%1)\n%3 = linear(%2, out=10)\n%4 = output(%3)\n");
  ASSERT_TRUE(executor->start(own));
  executor->command(engine::Allow{TrialId{1}, 1});
  executor->command(engine::Finish{TrialId{1}, true});
  std::string weights;
  for (const auto& report : drain(*executor, 1)) {
    if (const auto* done = std::get_if<engine::FinishedReport>(&report)) weights = done->weights;
  }
  ASSERT_FALSE(weights.empty());
  *dry = true;

  const auto metrics = executor->test(own, weights);

  ASSERT_FALSE(metrics);
  EXPECT_EQ(metrics.error().code, Code::kResourceExhausted);
  *dry = false;
  EXPECT_TRUE(executor->test(own, weights));
}

/// From clock read number `looks` on, there is no memory, or a value is thrown that is no exception.
class ClockThatThrows final : public Clock {
 public:
  explicit ClockThatThrows(int looks, bool throws_a_number = false) : left_(looks), throws_a_number_(throws_a_number) {}
  double unix_time() const override { return now(); }
  double now() const override {
    if (left_.fetch_sub(1) > 0) return 0;
    if (throws_a_number_) throw 7;
    throw std::bad_alloc();
  }

 private:
  mutable std::atomic<int> left_;
  bool throws_a_number_;
};

/// The first end of a trial, or of the executor.
std::optional<engine::Report> first_end(WorkerExecutor& executor) {
  while (auto report = executor.next(20)) {
    const bool continues =
        std::holds_alternative<engine::EpochReport>(*report) || std::holds_alternative<engine::SpanReport>(*report);
    if (!continues) return report;
  }
  return std::nullopt;
}

// Two trials are lanes of one program, and one may have ended its epoch when memory ends. The executor waits for
// neither.
TEST_F(WorkerMemory, IsBrokenWithoutMemoryBetweenSteps) {
  for (const int looks : {3, 10, 41, 80, 81, 82, 83}) {
    const ClockThatThrows clock(looks);
    engine::WorkerConfig worker_config = one_lane(1);
    worker_config.lanes = 2;
    worker_config.checkpoint_every = 1e-3;  // so the clock is looked at after every step; it never gets so far
    auto executor = make(worker_config, real_file_system(), clock);
    for (std::uint32_t id = 1; id <= 2; ++id) {
      ASSERT_TRUE(executor->start(job(id)));
      executor->command(engine::Allow{TrialId{id}, kEpochs});
    }

    const auto end = first_end(*executor);

    ASSERT_TRUE(end) << looks;
    const auto* broken = std::get_if<engine::ExecutorErrorReport>(&*end);
    ASSERT_NE(broken, nullptr) << looks;
    EXPECT_EQ(broken->error.code, Code::kResourceExhausted);
  }
}

// The same with chunks of steps. The clock is read around each chunk, for the checkpoints after it, and for spans at
// the end of the epoch. Four earlier reads are around the making of the program, and when trials are admitted.
TEST_F(WorkerMemory, IsBrokenWithoutMemoryBetweenChunks) {
  for (int looks = 4; looks < 36; ++looks) {
    const ClockThatThrows clock(looks);
    engine::WorkerConfig worker_config = one_lane(1);
    worker_config.lanes = 2;
    auto executor = make(worker_config, real_file_system(), clock);
    for (std::uint32_t id = 1; id <= 2; ++id) ASSERT_TRUE(executor->start(job(id)));
    executor->command(engine::UpdateGroups{.changes = {{{1, {TrialId{1}, TrialId{2}}}}},
                                           .allow = {{TrialId{1}, kEpochs}, {TrialId{2}, kEpochs}}});

    const auto end = first_end(*executor);

    ASSERT_TRUE(end) << looks;
    const auto* broken = std::get_if<engine::ExecutorErrorReport>(&*end);
    ASSERT_NE(broken, nullptr) << looks;
    EXPECT_EQ(broken->error.code, Code::kResourceExhausted);
  }
}

TEST_F(WorkerMemory, FailsOnAnUnknownException) {
  const ClockThatThrows clock(10, true);
  auto executor = make(one_lane(1), real_file_system(), clock);
  ASSERT_TRUE(executor->start(job(1)));
  executor->command(engine::Allow{TrialId{1}, kEpochs});

  for (int time = 0; time < 2; ++time) {
    const auto end = first_end(*executor);
    ASSERT_TRUE(end);
    const auto* broken = std::get_if<engine::ExecutorErrorReport>(&*end);
    ASSERT_NE(broken, nullptr);
    EXPECT_EQ(broken->error.code, Code::kInternal);
  }
}

TEST_F(WorkerMemory, WorksWithTheThreadsThatTheSystemGives) {
  engine::WorkerConfig worker_config;
  worker_config.workers = 5;
  WorkerOptions options;
  int asked = 0;
  options.before_thread = [&asked] {
    if (asked++ == 2) throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
  };
  auto executor = make(worker_config, options);

  EXPECT_EQ(executor->workers(), 2);
  expect_trained(*executor, 3);
}

TEST_F(WorkerMemory, ReportsThatItHasNoThread) {
  WorkerOptions options;
  options.before_thread = [] {
    throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
  };
  auto executor = make({}, options);
  EXPECT_TRUE(executor->start(job(1)));
  executor->command(engine::PauseAll{});

  const auto broken = executor->next(0);
  ASSERT_TRUE(broken && std::holds_alternative<engine::ExecutorErrorReport>(*broken));
  EXPECT_EQ(std::get<engine::ExecutorErrorReport>(*broken).error.code, Code::kResourceExhausted);
  const auto paused = executor->next(0);
  EXPECT_TRUE(paused && std::holds_alternative<engine::AllPausedReport>(*paused));
}

}  // namespace
}  // namespace lanista::runtime
