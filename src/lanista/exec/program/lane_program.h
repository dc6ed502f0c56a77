#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lanista/base/memory_budget.h"
#include "lanista/exec/pipeline_parallel/stage_runner.h"
#include "lanista/exec/program/aligned_bytes.h"
#include "lanista/exec/program/batch_split.h"
#include "lanista/exec/program/commit.h"
#include "lanista/exec/program/executable.h"
#include "lanista/exec/program/joint_linear.h"
#include "lanista/exec/program/lane_gradients.h"
#include "lanista/exec/program/lane_state.h"
#include "lanista/exec/program/metrics.h"
#include "lanista/exec/program/program.h"
#include "lanista/exec/program/section.h"
#include "lanista/exec/program/thread_pool.h"

namespace lanista::program {

/// The executable of the lanista CPU kernels for one element type. It runs the compute section and then the commit of
/// each lane. States stay in host memory, and a chunk is done when run() returns.
template <class T>
class LaneProgram final : public SingleObjectExecutable {
 public:
  /// Compiles a program; without `train` (null) it only predicts. Errors: kInvalidArgument, kResourceExhausted,
  /// kUnimplemented, as Backend::compile.
  static Result<std::unique_ptr<LaneProgram>> compile(kernels::Isa isa, const autodiff::TrainingStep* train,
                                                      const autodiff::InferenceStep& infer,
                                                      const ProgramOptions& options);
  /// Compiles only the stages of a program, for a process that serves a rank of another process's steps. Null without
  /// options.stages. Errors: kInvalidArgument, kResourceExhausted, kUnimplemented, as compile().
  static Result<std::unique_ptr<StageRunner<T>>> compile_stage_runner(kernels::Isa isa,
                                                                      const autodiff::TrainingStep& train,
                                                                      const autodiff::InferenceStep& infer,
                                                                      const ProgramOptions& options);

  std::int64_t bytes() const override;
  std::string describe() const override;
  Result<LaneState> make_state(std::uint64_t trial_seed) const override {
    return LaneState::make(state_format_, trial_seed, options_.budget);
  }
  void attach(std::int64_t lane, LaneState&& state) override { state_of(lane) = std::move(state); }
  LaneState detach(std::int64_t lane) override { return std::exchange(state_of(lane), {}); }
  Result<void> clone(std::int64_t from, std::int64_t to, std::uint64_t trial_seed) override {
    LANISTA_ASSIGN(state_of(to), state_of(from).clone(trial_seed));
    return {};
  }
  std::int64_t step_count(std::int64_t lane) const override;
  std::vector<Tensor> extract_state(std::int64_t lane) const override {
    return states_[static_cast<std::size_t>(lane)].extract();
  }
  void run(const Chunk& chunk, std::span<LaneResult> results) override;
  void wait() override {}
  std::optional<StepTimes> take_step_times() override {
    return stages_ ? stages_->take_step_times() : std::optional<StepTimes>();
  }
  Result<LaneGradients> make_gradients() const override { return LaneGradients::make(state_format_, options_.budget); }
  double gradients(std::int64_t lane, const Batch& batch, std::int64_t total, const LaneHyper& hyper,
                   LaneGradients& out, bool add) override;
  void commit(std::int64_t lane, const LaneGradients& gradients, const LaneHyper& hyper) override;
  void renew_buffers(std::int64_t lane, const LaneGradients& from) override {
    program::renew_buffers(state_of(lane), from.new_buffers<T>());
  }
  double squared_gradient_norm(std::int64_t lane, const LaneGradients& gradients,
                               const LaneHyper& hyper) const override;
  void predict(std::int64_t lane, const Batch& batch, PredictionBuffer out) override;
  void evaluate(const BatchSource& batches, std::span<LaneMetrics> lanes) override;
  void losses(std::int64_t lane, const Batch& batch, double label_smoothing, std::span<double> out) override;
  void profile_step(const Batch& batch, const LaneHyper& hyper, const std::function<void()>& done) override;

 private:
  // A value that a batch brings, and its memory in program layout.
  struct BatchInput {
    Reorder reorder;
    bool tokens = false;      // whole numbers in float form
    std::int64_t offset = 0;  // in a workspace
    std::int64_t bytes = 0;   // 0 if the batch's own memory is used
    std::int64_t stride = 0;  // bytes of a sample, wherever the value is
    void plan(const graph::ValueType& type, std::int64_t max_batch);
  };
  struct Plan;

  static Result<Plan> plan(kernels::Isa isa, const autodiff::TrainingStep* train, const autodiff::InferenceStep& infer,
                           const ProgramOptions& options);
  LaneProgram(ExecutableProperties properties, kernels::Isa isa, Plan plan, const ProgramOptions& options,
              MemoryBudget::Reservation reservation);
  LaneState& state_of(std::int64_t lane) { return states_[static_cast<std::size_t>(lane)]; }
  // The joint layer and its memory.
  struct JointLanes {
    JointLinear<T> layer;
    std::int64_t products_bytes = 0;      // of all lanes
    std::int64_t lane_bytes = 0;          // of the gradients and new buffers of a lane
    AlignedBytes memory;                  // products, then gradients and new buffers
    std::vector<RunContext<T>> contexts;  // of the lanes that train now
    std::vector<double> losses;           // of the same lanes, where no call failed
    std::vector<std::int64_t> numbers;    // of the same lanes
  };

  void train_step(const Chunk& chunk, std::int64_t step, std::span<LaneResult> results);
  // Trains the lanes joint_->numbers[begin, end) on the batch of `shared`, with the joint layer as one product.
  void train_joint_lanes(const Chunk& chunk, std::int64_t step, const StepInput& step_input,
                         const RunContext<T>& shared, int thread, std::int64_t group, std::int64_t groups,
                         std::span<LaneResult> results);
  // Computes the gradients of a lane and returns its mean loss.
  double compute_gradients(RunContext<T>& run, ShardCommunicator* communicator);
  // Commits the gradients of `run` and adds the step to the result of lane `lane`.
  void finish_step(const RunContext<T>& run, std::int64_t lane, const Chunk& chunk, std::int64_t step, double loss,
                   std::span<LaneResult> results);
  void commit_lane(const RunContext<T>& run, std::int64_t lane);
  // Runs the compute sections of all parts of the batch in `run`, in one workspace (lane_batch_parts.cpp). Writes the
  // sum of their gradients, in order of the parts, to `out`, or adds it. Returns the sum of losses.
  double sum_gradients(const RunContext<T>& run, T* out, bool add);
  // Does the same with each rank computing its own shards. Every rank must have shards (BatchSplit::num_used_shards).
  double sum_gradients_across_ranks(ShardCommunicator& communicator, const RunContext<T>& run, T* out);
  struct GradientSums;
  GradientSums sums_to_send(ShardCommunicator& communicator) const;
  void sum_parts_in_sequence(const RunContext<T>& run, const ShardRange& own, const GradientSums& sums);
  void sum_parts_in_lockstep(const RunContext<T>& run, const ShardRange& own, GradientSums sums,
                             ShardCommunicator* communicator);
  void reduce_over_parts(const RunContext<T>& run, const BatchReduction<T>& batch_reduction, const ShardRange& own,
                         ShardCommunicator* communicator);
  RunContext<T> lockstep_part(const RunContext<T>& run, const BatchPart& part) const;
  RunContext<T> part_context(const RunContext<T>& run, const BatchPart& part, std::int64_t arena) const;
  double loss_sum(const RunContext<T>& run) const;
  void add_gradients(T* sum, const T* first, const T* second) const;
  T* workspace_gradients(int thread, std::int64_t number) const {
    return reinterpret_cast<T*>(workspace(thread) + gradient_offset_ + number * gradient_stride_);
  }
  /// A thread's own arena, scratch, inputs, gradients and new buffer values.
  std::byte* workspace(int thread) const { return memory_.data() + thread * workspace_bytes_; }
  RunContext<T> context(std::int64_t lane, int thread) const;
  void check_hyper(const LaneHyper& hyper) const;
  std::byte* load_input(const BatchInput& load_input, std::byte* workspace, std::int64_t n,
                        std::span<const float> values) const;
  void load_features(RunContext<T>& run, std::byte* workspace, const Batch& batch) const;
  static void use_batch(RunContext<T>& run, const RunContext<T>& shared);
  void load_batch(RunContext<T>& run, std::byte* workspace, const Batch& batch) const;
  void check_labels(const Batch& batch) const;
  /// Elements of one rated answer: for classes those of one position, else the whole prediction.
  std::int64_t values_per_target(const Metrics& requested) const;

  kernels::Isa isa_;
  ProgramOptions options_;
  BatchSplit batch_split_;
  const kernels::Kernels<T>* kernels_;
  Section<T> train_, infer_;
  CommitSection<T> commit_;
  Address loss_, prediction_;
  Reorder prediction_out_;
  ElementCount prediction_count_;
  std::int64_t classes_ = 0;    // cross-entropy: labels are less than this
  std::int64_t positions_ = 1;  // cross-entropy: labels of a sample
  std::int64_t row_size_ = 1;   // last dimension of a prediction
  Metrics loss_only_;           // the step's loss; empty if the program only predicts
  BatchInput input_, target_;
  std::int64_t scratch_offset_ = 0;
  std::int64_t arena_stride_ = 0;
  std::int64_t gradient_offset_ = 0;
  std::int64_t gradient_stride_ = 0;
  std::int64_t gradient_count_ = 1;
  std::int64_t new_buffer_offset_ = 0;
  std::int64_t value_offset_ = 0;  // of three values of a batch reduction
  std::int64_t workspace_bytes_ = 0;
  std::int64_t joint_bytes_ = 0;  // of joint_
  MemoryBudget::Reservation reservation_;
  std::shared_ptr<const StateFormat> state_format_;
  std::vector<LaneState> states_;           // of each lane; empty if the lane is
  AlignedBytes memory_;                     // workspaces of the threads
  std::unique_ptr<StageRunner<T>> stages_;  // null if steps are not cut into stages
  std::unique_ptr<JointLanes> joint_;       // null if no layer is joint
  ThreadPool thread_pool_;
};

}  // namespace lanista::program
