// Several executors, in one process and in several, that train the same trials into one folder at the same time.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "lanista/base/memory_file_system.h"
#include "lanista/engine/local/spilled_state.h"
#include "lanista/engine/local/worker_process.h"
#include "lanista/engine/remote/messages.h"
#include "lanista/engine/remote/process_executor.h"
#include "support/engine/local/worker_test_support.h"

namespace lanista::runtime {
namespace {

class SharedStore : public WorkerExecutorTest {
 protected:
  static constexpr std::uint32_t kTrials = 2;

  engine::WorkerConfig worker_config() {
    engine::WorkerConfig worker_config = one_lane(1);
    worker_config.study_folder = folder_;
    worker_config.data.hash = data_.spec().hash;
    worker_config.numeric_class = program::cpu_backend().numeric_class();
    worker_config.checkpoint_every = 0;
    return worker_config;
  }

  /// A worker process with a configuration only; one for each number.
  std::unique_ptr<engine::ProcessExecutor> in_a_process(int number) {
    engine::ProcessOptions how;
    how.socket = folder_ + "/workers-" + std::to_string(number);
    how.launch = engine::launch_function([](const std::string& socket) {
      static_cast<void>(engine::run_worker(socket, make_process_worker(program::Operators())));
    });
    return *engine::ProcessExecutor::create(worker_config(), real_file_system(), clock_, how);
  }

  /// Trains every trial on each executor, and returns the files that they reported.
  std::set<std::string> train_on_all(const std::vector<engine::Executor*>& executors) {
    const auto step_ops = autodiff::training_ops(ops_.table());
    std::map<std::uint32_t, Digest> alone;
    for (std::uint32_t id = 1; id <= kTrials; ++id) alone[id] = trained_alone(id, step_ops);
    for (engine::Executor* executor : executors) {
      for (std::uint32_t id = 1; id <= kTrials; ++id) {
        EXPECT_TRUE(executor->start(job(id)));
        executor->command(engine::Allow{TrialId{id}, kEpochs});
        executor->command(engine::Finish{TrialId{id}, true});
      }
    }
    std::set<std::string> reported;
    std::size_t ended = 0, silent = 0;
    while (ended < executors.size() * kTrials && silent < 6000) {
      for (engine::Executor* executor : executors) {
        const auto report = executor->next(0.01);
        silent = report ? 0 : silent + 1;
        if (!report) continue;
        if (const auto* saved = std::get_if<engine::CheckpointReport>(&*report)) reported.insert(saved->address);
        if (const auto* end = std::get_if<engine::FinishedReport>(&*report)) {
          EXPECT_EQ(end->state_hash, alone.at(end->trial.value));
          reported.insert(end->weights);
          ++ended;
        }
        const bool bad = std::holds_alternative<engine::FailureReport>(*report) ||
                         std::holds_alternative<engine::ExecutorErrorReport>(*report);
        if (!bad) continue;
        ADD_FAILURE() << engine::encode(*report);
        return reported;
      }
    }
    EXPECT_LT(silent, 6000U) << "silence";
    return reported;
  }

  /// Every file of the folder is complete and was reported, and every reported file exists.
  void expect_exactly(const std::set<std::string>& reported) {
    const store::CheckpointStore store(real_file_system(), folder_);
    std::set<std::string> there;
    const auto names = real_file_system().list(folder_ + "/ckpt");
    ASSERT_TRUE(names);
    for (const std::string& name : *names) {
      const std::string address = name.substr(0, 32);
      EXPECT_EQ(name, address + ".safetensors");
      there.insert(address);
    }
    EXPECT_EQ(there, reported);
    EXPECT_GT(reported.size(), 100U);  // of every step of every trial, the same for all
    for (const std::string& address : reported) {
      const auto state = store.get(address);
      ASSERT_TRUE(state) << state.error().text();
    }
  }
};

TEST_F(SharedStore, OfExecutorsOfOneProcessLosesAndMixesNothing) {
  std::vector<std::unique_ptr<WorkerExecutor>> made;
  std::vector<engine::Executor*> executors;
  for (int i = 0; i < 2; ++i) {
    made.push_back(make(worker_config()));
    executors.push_back(made.back().get());
  }

  expect_exactly(train_on_all(executors));
}

TEST_F(SharedStore, OfExecutorsOfSeveralProcessesLosesAndMixesNothing) {
  std::vector<std::unique_ptr<engine::ProcessExecutor>> made;
  std::vector<engine::Executor*> executors;
  for (int i = 0; i < 2; ++i) {
    made.push_back(in_a_process(i));
    executors.push_back(made.back().get());
  }

  expect_exactly(train_on_all(executors));
}

TEST_F(SharedStore, KeepsSpilledTrialsOfEveryExecutor) {
  MemoryFileSystem disk;
  store::CheckpointStore mine(disk, "study"), theirs(disk, "study");
  const auto state = [] { return train::TrainerState{{}, {{"step", "3"}}}; };
  const auto spilled = SpilledState::put(mine, TrialId{1}, state());
  ASSERT_TRUE(spilled);
  { ASSERT_TRUE(SpilledState::put(theirs, TrialId{1}, state())); }

  const auto back = spilled->get();

  ASSERT_TRUE(back) << back.error().text();
  EXPECT_EQ(back->facts, state().facts);
}

TEST_F(SharedStore, IsRefusedWithOtherDataOrNumericClass) {
  const auto refuse = [&](engine::WorkerConfig other, const std::string& word) {
    const auto made = WorkerExecutor::create(other, data_, ops_, real_file_system(), clock_);
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code, Code::kFailedPrecondition);
    EXPECT_NE(made.error().message.find(word), std::string::npos) << made.error().text();
  };
  engine::WorkerConfig other = worker_config();
  other.data.hash = Digest{1, 2};
  refuse(other, "00000000000000010000000000000002");
  other = worker_config();
  other.numeric_class = "own-0/odd";
  refuse(other, "own-0/odd");
  other = worker_config();
  other.isa = "abacus";
  refuse(other, "abacus");
  for (const kernels::Isa isa : kernels::available_isas()) {
    other = worker_config();
    other.isa = kernels::isa_name(isa);
    other.numeric_class = program::cpu_backend(isa).numeric_class();
    EXPECT_TRUE(WorkerExecutor::create(other, data_, ops_, real_file_system(), clock_));
  }
}

}  // namespace
}  // namespace lanista::runtime
