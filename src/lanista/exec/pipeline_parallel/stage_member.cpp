#include "lanista/exec/pipeline_parallel/stage_member.h"

#include <utility>

#include "lanista/exec/kernels/flush_to_zero.h"
#include "lanista/exec/program/lane_program.h"

namespace lanista::nn {
namespace {

template <class T>
class Member final : public StageMember {
 public:
  explicit Member(std::unique_ptr<StageRun<T>> run) : run_(std::move(run)) {}

  const StageMap& map() const override { return run_->map(); }
  void serve(std::byte* memory, std::size_t place, const std::function<bool()>& leaves, StageLine* line) override {
    const kernels::FlushToZero as_workers;  // part of the numerics
    run_->serve(memory, place, leaves, line);
  }

 private:
  std::unique_ptr<StageRun<T>> run_;
};

template <class T>
Result<std::unique_ptr<StageMember>> member(kernels::Isa isa, const step::TrainingStep& train,
                                            const step::InferenceStep& infer, const ProgramOptions& options) {
  LANISTA_ASSIGN(auto run, LaneProgram<T>::compile_stages(isa, train, infer, options));
  return std::unique_ptr<StageMember>(std::make_unique<Member<T>>(std::move(run)));
}

}  // namespace

Result<std::unique_ptr<StageMember>> StageMember::compile(kernels::Isa isa, const step::TrainingStep& train,
                                                          const step::InferenceStep& infer,
                                                          const ProgramOptions& options) {
  return options.precision == Precision::kFloat32 ? member<float>(isa, train, infer, options)
                                                  : member<double>(isa, train, infer, options);
}

}  // namespace lanista::nn
