#include "lanista/base/memory_file_system.h"
#include "lanista/engine/executor_conformance.h"
#include "lanista/mutate/model_space.h"
#include "lanista/runtime/worker_executor.h"

namespace lanista::engine::testing {
namespace {

template <std::int64_t kWorkers, std::int64_t kLanes>
struct WorkerBench {
  static constexpr bool kKeeps = true;
  static constexpr std::int64_t kEpochs = 4;

  std::unique_ptr<Executor> make() {
    runtime::WorkerOptions options;
    options.workers = kWorkers;
    options.lanes = kLanes;
    options.crash_marks = false;
    return runtime::WorkerExecutor::create(options, data, nn::Operators(), disk, clock, "study");
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
    config.source = "synthetic:blobs?rows=96&classes=3&features=4&seed=1";
    return *data::open(config, ".", real_file_system());
  }();
  RealClock clock;
  MemoryFileSystem disk;
};

using Workers = ::testing::Types<WorkerBench<1, 1>, WorkerBench<1, 0>, WorkerBench<3, 0>, WorkerBench<4, 1>>;
INSTANTIATE_TYPED_TEST_SUITE_P(Workers, ExecutorConformance, Workers);

}  // namespace
}  // namespace lanista::engine::testing
