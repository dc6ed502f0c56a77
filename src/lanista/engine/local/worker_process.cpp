#include "lanista/engine/local/worker_process.h"

#include <memory>
#include <utility>

#include "lanista/base/clock.h"
#include "lanista/base/file_system.h"
#include "lanista/io/data/dataset.h"
#include "lanista/engine/local/worker_executor.h"

namespace lanista::runtime {
namespace {

/// Everything behind an executor, in order of construction.
struct Household {
  explicit Household(data::Dataset opened) : data(std::move(opened)) {}
  RealClock clock;
  data::Dataset data;
  std::unique_ptr<WorkerExecutor> executor;
};

}  // namespace

engine::MakeWorker worker_of_process(const nn::Operators& operators) {
  return [operators](const engine::WorkerBrief& brief,
                     engine::TellInHand tell) -> Result<std::shared_ptr<engine::Executor>> {
    FileSystem& fs = real_file_system();
    LANISTA_ASSIGN(data::Dataset data, data::open(brief.data.config(), brief.data.folder, fs, brief.data.repetitions));
    auto house = std::make_shared<Household>(std::move(data));
    WorkerOptions options;
    options.in_hand = std::move(tell);
    LANISTA_ASSIGN(house->executor, WorkerExecutor::create(brief, house->data, operators, fs, house->clock, options));
    return std::shared_ptr<engine::Executor>(house, house->executor.get());
  };
}

}  // namespace lanista::runtime
