#include "lanista/exec/pipeline_parallel/stage_worker.h"

#include <utility>

#include "lanista/exec/kernels/flush_to_zero.h"
#include "lanista/exec/program/lane_program.h"

namespace lanista::program {
namespace {

template <class T>
class StageWorkerImpl final : public StageWorker {
 public:
  explicit StageWorkerImpl(std::unique_ptr<StageRunner<T>> run) : run_(std::move(run)) {}

  const StageMemoryMap& map() const override { return run_->map(); }
  void serve(std::byte* memory, std::size_t rank, const std::function<bool()>& should_stop,
             StageTransport* transport) override {
    const kernels::FlushToZero as_workers;  // part of the numerics
    run_->serve(memory, rank, should_stop, transport);
  }

 private:
  std::unique_ptr<StageRunner<T>> run_;
};

template <class T>
Result<std::unique_ptr<StageWorker>> member(kernels::Isa isa, const autodiff::TrainingStep& train,
                                            const autodiff::InferenceStep& infer, const ProgramOptions& options) {
  LANISTA_ASSIGN(auto run, LaneProgram<T>::compile_stage_runner(isa, train, infer, options));
  return std::unique_ptr<StageWorker>(std::make_unique<StageWorkerImpl<T>>(std::move(run)));
}

}  // namespace

Result<std::unique_ptr<StageWorker>> StageWorker::compile(kernels::Isa isa, const autodiff::TrainingStep& train,
                                                          const autodiff::InferenceStep& infer,
                                                          const ProgramOptions& options) {
  return options.precision == Precision::kFloat32 ? member<float>(isa, train, infer, options)
                                                  : member<double>(isa, train, infer, options);
}

}  // namespace lanista::program
