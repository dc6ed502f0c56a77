#include "support/engine/core/executor_conformance.h"

#include <unistd.h>

#include <filesystem>

#include "lanista/base/check.h"
#include "lanista/base/memory_file_system.h"
#include "lanista/engine/core/noop_executor.h"
#include "lanista/engine/remote/process_executor.h"
#include "lanista/engine/remote/worker_loop.h"
#include "lanista/model/graph/text.h"
#include "support/engine/core/fake_executor.h"
#include "support/engine/remote/wire_executor.h"

namespace lanista::engine::testing {
namespace {

Job small_job(std::uint32_t id) {
  Job job;
  job.trial = TrialId{id};
  job.model = *graph::parse("%0 = input(shape=[6])\n%1 = linear(%0, out=3)\n%2 = output(%1)\n");
  job.recipe.epochs = 4;
  job.recipe.batch = 8;
  job.recipe.lr = 0.1 * id;
  return job;
}

/// Reports of `kWorkers` trials at a time, in random order.
template <std::int64_t kWorkers, std::int64_t kCheckpointOneIn>
struct FakeBench {
  static constexpr bool kStoresWeights = true;
  static constexpr std::int64_t kEpochs = 4;

  std::unique_ptr<Executor> make() {
    const FakeOptions options{.seed = ++made, .workers = kWorkers, .checkpoint_one_in = kCheckpointOneIn};
    return std::make_unique<FakeExecutor>(options, store::CheckpointStore(disk, "study"));
  }
  Job job(std::uint32_t id) { return small_job(id); }

  MemoryFileSystem disk;
  std::uint64_t made = 0;
};

struct NoopBench {
  static constexpr bool kStoresWeights = false;
  static constexpr std::int64_t kEpochs = 4;

  std::unique_ptr<Executor> make() { return std::make_unique<NoopExecutor>(); }
  Job job(std::uint32_t id) { return small_job(id); }
};

/// The same bench with all messages as text.
template <class TestBench>
struct WireBench : TestBench {
  std::unique_ptr<Executor> make() { return std::make_unique<WireExecutor>(TestBench::make()); }
};

/// Executors in several processes with one folder.
template <std::int64_t kProcesses>
struct ProcessBench {
  static constexpr bool kStoresWeights = true;
  static constexpr std::int64_t kEpochs = 4;

  ProcessBench() {
    std::string pattern = (std::filesystem::temp_directory_path() / "lanista_process_XXXXXX").string();
    LANISTA_CHECK(::mkdtemp(pattern.data()) != nullptr, "no temporary folder");
    worker_config.study_folder = pattern;
    worker_config.workers = kProcesses;
  }
  ProcessBench(const ProcessBench&) = delete;
  ProcessBench& operator=(const ProcessBench&) = delete;
  ~ProcessBench() { std::filesystem::remove_all(worker_config.study_folder); }

  std::unique_ptr<Executor> make() {
    const FakeOptions options{.seed = ++made, .workers = 2, .checkpoint_one_in = 2};
    ProcessOptions how;
    how.socket = worker_config.study_folder + "/workers-" + std::to_string(made);  // two may live at a time
    how.launch = launch_function([options](const std::string& socket) {
      static_cast<void>(run_worker(socket, [&](const WorkerConfig& received, const ReportActiveTrials&) {
        const store::CheckpointStore files(real_file_system(), received.study_folder);
        return Result<std::shared_ptr<Executor>>(std::make_shared<FakeExecutor>(options, files));
      }));
    });
    return *ProcessExecutor::create(worker_config, real_file_system(), clock, how);
  }
  Job job(std::uint32_t id) { return small_job(id); }

  WorkerConfig worker_config;
  RealClock clock;
  std::uint64_t made = 0;
};

using Fakes = ::testing::Types<FakeBench<1, 0>, FakeBench<3, 2>, NoopBench, WireBench<FakeBench<3, 2>>, ProcessBench<1>,
                               ProcessBench<3>>;
INSTANTIATE_TYPED_TEST_SUITE_P(WithoutTraining, ExecutorConformance, Fakes);

}  // namespace
}  // namespace lanista::engine::testing
