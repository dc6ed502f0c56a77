#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lanista/exec/program/executable.h"

namespace lanista::runtime {

/// An executable with steps on several ranks, any of which may be lost at any time (program::RankLost).
///
/// After a loss the step is repeated by an executable for fewer ranks, down to one. If none fits in memory, the same
/// executable repeats it with a replacement for the lost rank. The first attach() after all lanes became empty returns
/// to all ranks. States are those after their last whole step. So a loss changes only the time. After more than
/// 8 losses without a finished step in between, the lane fails with the last exception.
class PipelineExecutable final : public program::Executable,
                                 public program::LaneStore,
                                 public program::StepRunner,
                                 public program::GradientRunner {
 public:
  /// Compiles the same program for this number of ranks, with the same bits.
  using Compile = std::function<Result<std::unique_ptr<program::Executable>>(std::int64_t ranks)>;
  /// `executable` runs on `ranks` ranks; `make` compiles executables for fewer ranks, and for all again.
  PipelineExecutable(std::unique_ptr<program::Executable> executable, std::int64_t ranks, Compile make);

  std::string describe() const override { return executable_->describe(); }
  program::ExecutableRoles roles() override {
    const program::ExecutableRoles current = executable_->roles();
    return {current.memory, this, this, this, current.evaluator};
  }

  void attach(std::int64_t lane, program::LaneState&& state) override;
  program::LaneState detach(std::int64_t lane) override { return executable_->lanes().detach(lane); }
  Result<void> clone(std::int64_t from, std::int64_t to, std::uint64_t seed) override {
    return executable_->lanes().clone(from, to, seed);
  }
  std::vector<Tensor> extract_state(std::int64_t lane) const override {
    return executable_->lanes().extract_state(lane);
  }

  void run(const program::Chunk& chunk, std::span<program::LaneResult> results) override;
  void wait() override {}
  std::int64_t step_count(std::int64_t lane) const override { return executable_->steps().step_count(lane); }
  std::optional<program::StepTimes> take_step_times() override { return executable_->steps().take_step_times(); }

  double gradients(std::int64_t lane, const program::Batch& batch, std::int64_t total, const program::LaneHyper& hyper,
                   program::LaneGradients& out, bool add) override;
  void commit(std::int64_t lane, const program::LaneGradients& gradients, const program::LaneHyper& hyper) override {
    executable_->gradient_runner().commit(lane, gradients, hyper);
  }
  void renew_buffers(std::int64_t lane, const program::LaneGradients& from) override {
    executable_->gradient_runner().renew_buffers(lane, from);
  }
  double squared_gradient_norm(std::int64_t lane, const program::LaneGradients& gradients,
                               const program::LaneHyper& hyper) const override {
    return executable_->gradient_runner().squared_gradient_norm(lane, gradients, hyper);
  }

 private:
  void step(const program::Chunk& chunk, std::int64_t number, std::span<program::LaneResult> results);
  bool replan();
  void set_executable(std::unique_ptr<program::Executable> executable, std::int64_t ranks);
  void match_lane_attrs();
  program::LaneHyper in_executable_order(const program::LaneHyper& hyper, std::vector<double>& lane_attrs) const;

  std::unique_ptr<program::Executable> executable_;
  const std::int64_t num_wanted_ranks_;
  std::int64_t ranks_;
  Compile compile_;
  int num_losses_ = 0;              // since the last finished step
  std::vector<std::size_t> order_;  // indices of the current executable's lane attributes among those of the callers
  // Of a step:
  std::vector<std::uint8_t> active_;
  std::vector<program::LaneResult> results_;
  std::vector<program::LaneHyper> hyper_;
  std::vector<std::vector<double>> lane_attrs_;
};

}  // namespace lanista::runtime
