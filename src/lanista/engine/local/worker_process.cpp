#include "lanista/engine/local/worker_process.h"

#include <memory>
#include <utility>

#include "lanista/base/clock.h"
#include "lanista/base/file_system.h"
#include "lanista/engine/local/worker_executor.h"
#include "lanista/io/data/dataset.h"

namespace lanista::runtime {
namespace {

/// Everything that an executor needs, in order of construction.
struct WorkerProcessState {
  explicit WorkerProcessState(data::Dataset opened) : data(std::move(opened)) {}
  RealClock clock;
  data::Dataset data;
  std::unique_ptr<WorkerExecutor> executor;
};

}  // namespace

engine::MakeWorkerExecutor make_process_worker(const program::Operators& operators) {
  return [operators](const engine::WorkerConfig& worker_config,
                     engine::ReportActiveTrials report) -> Result<std::shared_ptr<engine::Executor>> {
    FileSystem& fs = real_file_system();
    LANISTA_ASSIGN(data::Dataset data, data::open(worker_config.data.config(), worker_config.data.folder, fs,
                                                  worker_config.data.repetitions));
    auto state = std::make_shared<WorkerProcessState>(std::move(data));
    WorkerOptions options;
    options.on_training = std::move(report);
    LANISTA_ASSIGN(state->executor,
                   WorkerExecutor::create(worker_config, state->data, operators, fs, state->clock, options));
    return std::shared_ptr<engine::Executor>(state, state->executor.get());
  };
}

}  // namespace lanista::runtime
