#include <stdlib.h>

#include <filesystem>
#include <memory>
#include <string>

#include "lanista/base/check.h"
#include "lanista/base/memory_file_system.h"
#include "lanista/engine/local/device_pool.h"
#include "lanista/engine/local/worker_executor.h"
#include "lanista/engine/local/worker_process.h"
#include "lanista/engine/remote/process_executor.h"
#include "lanista/model/mutate/model_space.h"
#include "support/engine/core/executor_conformance.h"
#include "support/engine/remote/wire_executor.h"

namespace lanista::engine::testing {
namespace {

constexpr const char* kSource = "synthetic:blobs?rows=96&classes=3&features=4&seed=1";

template <std::int64_t kWorkers, std::int64_t kLanes>
struct WorkerBench {
  static constexpr bool kStoresWeights = true;
  static constexpr std::int64_t kEpochs = 4;

  std::unique_ptr<Executor> make() {
    WorkerConfig worker_config;
    worker_config.study_folder = "study";
    worker_config.workers = kWorkers;
    worker_config.lanes = kLanes;
    worker_config.crash_marks = false;
    return *runtime::WorkerExecutor::create(worker_config, data, program::Operators(), disk, clock);
  }
  Job job(std::uint32_t id) {
    Job job;
    job.trial = TrialId{id};
    job.model = mutate::builtin_base("small-mlp", data.spec().features, 3)->graph;
    job.recipe.loss = "cross_entropy";
    job.recipe.optimizer = "sgd";
    job.recipe.schedule = "constant";
    job.recipe.precision = "float32";
    job.recipe.epochs = kEpochs;
    job.recipe.batch = 16;
    job.recipe.lr = 0.02 * id;
    job.recipe.momentum = 0.9;
    job.trial_seed = id;
    job.data_seed = 5;
    return job;
  }

  data::Dataset data = [] {
    study::DataConfig config;
    config.source = kSource;
    return *data::open(config, ".", real_file_system());
  }();
  RealClock clock;
  MemoryFileSystem disk;
};

/// On three devices, jobs dealt to them in turn.
struct DevicesBench : WorkerBench<2, 0> {
  std::unique_ptr<Executor> make() {
    WorkerConfig worker_config;
    worker_config.study_folder = "study";
    worker_config.workers = 2;
    worker_config.crash_marks = false;
    const std::vector<runtime::NamedBackend> devices{
        {"0", nullptr}, {"1", &program::cpu_backend()}, {"2", &program::cpu_backend()}};
    return std::move(
        runtime::make_device_pool(worker_config, devices, 4, data, program::Operators(), disk, clock)->executor);
  }
  Job job(std::uint32_t id) {
    Job job = WorkerBench::job(id);
    job.device = std::to_string(id % 3);
    return job;
  }
};

/// Orders and reports as text.
struct WireBench : WorkerBench<3, 0> {
  std::unique_ptr<Executor> make() { return std::make_unique<WireExecutor>(WorkerBench::make()); }
};

/// In processes, which have a configuration only; states pass through a folder.
template <std::int64_t kProcesses>
struct ProcessBench : WorkerBench<1, 1> {
  ProcessBench() {
    std::string pattern = (std::filesystem::temp_directory_path() / "lanista_workers_XXXXXX").string();
    LANISTA_CHECK(::mkdtemp(pattern.data()) != nullptr, "no temporary folder");
    worker_config.study_folder = pattern;
    worker_config.data.source = kSource;
    worker_config.data.hash = data.spec().hash;
    worker_config.numeric_class = program::cpu_backend().numeric_class();
    worker_config.workers = kProcesses;
  }
  ProcessBench(const ProcessBench&) = delete;
  ProcessBench& operator=(const ProcessBench&) = delete;
  ~ProcessBench() { std::filesystem::remove_all(worker_config.study_folder); }

  std::unique_ptr<Executor> make() {
    ProcessOptions how;
    how.socket = worker_config.study_folder + "/workers-" + std::to_string(++made);  // two may live at a time
    how.launch = launch_function([](const std::string& socket) {
      static_cast<void>(run_worker(socket, runtime::make_process_worker(program::Operators())));
    });
    return *ProcessExecutor::create(worker_config, real_file_system(), clock, how);
  }

  WorkerConfig worker_config;
  int made = 0;
};

using Workers = ::testing::Types<WorkerBench<1, 1>, WorkerBench<1, 0>, WorkerBench<3, 0>, WorkerBench<4, 1>,
                                 DevicesBench, WireBench, ProcessBench<1>, ProcessBench<3>>;
INSTANTIATE_TYPED_TEST_SUITE_P(Workers, ExecutorConformance, Workers);

}  // namespace
}  // namespace lanista::engine::testing
