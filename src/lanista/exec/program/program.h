#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lanista/base/memory_budget.h"
#include "lanista/base/precision.h"
#include "lanista/base/result.h"
#include "lanista/base/tensor.h"
#include "lanista/exec/pipeline_parallel/stages.h"
#include "lanista/exec/program/chunk.h"
#include "lanista/exec/program/lane_gradients.h"
#include "lanista/exec/program/lane_state.h"
#include "lanista/exec/program/metrics.h"
#include "lanista/exec/program/opaque.h"
#include "lanista/exec/program/plan.h"
#include "lanista/model/autodiff/training_step.h"

namespace lanista::nn {

class Backend;
class Executable;

inline constexpr std::int64_t kMaxBatchParts = 4096;  ///< shards of a batch, and parts of a shard

/// The options with which a program is compiled.
struct ProgramOptions {
  std::int64_t lanes = 1;
  std::int64_t max_batch = 32;
  /// A step's batch is divided into `shards`, and each shard into `accumulate` parts. Gradients of parts are computed
  /// one after the other, in an arena of the largest part. They are summed in order, within a shard first. The bits of
  /// a step depend on both numbers.
  std::int64_t shards = 1, accumulate = 1;
  /// The stages of a pipeline; null: none. Read while compiling. With stages `threads` is 1, one of shards and
  /// accumulate is 1, and their product is the number of finest micro-batches.
  const Stages* stages = nullptr;
  /// The model of the steps, from which other processes derive them again. Read while compiling; may be null.
  const graph::Graph* model = nullptr;
  int threads = 1;  ///< threads that share the lanes; no sum is split, so results do not depend on it
  Precision precision = Precision::kFloat32;
  const Backend* backend = nullptr;          ///< Compiling backend; null: the CPU's at its best level.
  MemoryBudget* budget = nullptr;            ///< May be null.
  const Operators* operators = nullptr;      ///< caller's operators, read while compiling; null: the shipped ones.
  const graph::OpTable* step_ops = nullptr;  ///< Step::training_ops of the operators, to save the work; may be null.
  std::function<void(std::int64_t lane)> before_commit = {};  ///< Test hook; may throw, then the lane is unchanged.
};

/// A training step and its inference step as flat programs over planned memory, for one or many lanes.
///
/// A lane is empty until a state is attached, and then the program owns that state. A step runs each lane through the
/// compute section and then the commit, with one set of activation and gradient buffers a thread. The bits of a lane do
/// not depend on the number of lanes, its position or its neighbours. Steps and predictions allocate nothing. One
/// thread at a time may use a program; it may have threads of its own.
class Program {
 public:
  /// Compiles a program that trains and predicts. Errors: kResourceExhausted (budget), kUnimplemented (an operator
  /// without a kernel, by name).
  static Result<Program> compile(const step::TrainingStep& train, const step::InferenceStep& infer,
                                 const ProgramOptions& options);
  /// Compiles a program that only predicts. Its states have no optimiser slots. Errors: the same.
  static Result<Program> compile(const step::InferenceStep& infer, const ProgramOptions& options);
  Program(Program&&) noexcept;
  Program& operator=(Program&&) noexcept;
  ~Program();

  std::int64_t lanes() const;    ///< number of lanes, empty ones included.
  std::int64_t bytes() const;    ///< bytes of all planned memory, including attached states.
  std::string describe() const;  ///< operators, kernels, layouts and bytes, one line an instruction.
  std::int64_t shards() const;   ///< shards of a step's batch.
  /// Bytes that a rank sends for one shard, when ranks share steps (Chunk::communicator).
  std::int64_t shard_bytes() const;
  /// The attributes that LaneHyper::lane_attrs sets, in its order. One attribute may be listed several times.
  const std::vector<LaneAttr>& lane_attrs() const;
  /// Every call of a step, of its commit and of a prediction, in order.
  std::vector<PlanLine> plan() const;

  /// Reserves device memory for `lanes` attached states, at most lanes(). Errors: kResourceExhausted.
  Result<void> reserve_lanes(std::int64_t lanes);
  /// Returns the fresh state of a trial, to be attached. Errors: those of LaneState::make.
  Result<LaneState> make_state(std::uint64_t trial_seed) const;
  /// Puts a state of this program's format into an empty lane. If it throws, the caller keeps the state.
  void attach(std::int64_t lane, LaneState&& state);
  /// Takes the state out of a lane, which is then empty and must be masked. An empty lane gives an empty state.
  LaneState detach(std::int64_t lane);
  /// Puts a fresh state into an empty lane. Errors: those of make_state.
  Result<void> begin(std::int64_t lane, std::uint64_t trial_seed);
  /// Puts a copy of lane `from` into the empty lane `to`, for another trial with its own seed. Errors: those of
  /// make_state; then lane `to` is still empty.
  Result<void> clone(std::int64_t from, std::int64_t to, std::uint64_t trial_seed);
  /// The layout that all states of the program have.
  const StateFormat& state_format() const;

  /// LaneState::initialise of the state in a lane.
  void initialise(std::int64_t lane, std::uint64_t trial_seed);
  /// LaneState::extract of the state in a lane.
  std::vector<Tensor> extract(std::int64_t lane) const;
  /// LaneState::insert into the state in a lane.
  Result<void> insert(std::int64_t lane, std::span<const Tensor> state);
  /// Steps done by the state in a lane.
  std::int64_t step_count(std::int64_t lane) const;

  /// Trains one step of the active lanes.
  ///
  /// `batches` has one entry for all lanes or one a lane. `hyper`, `active` and `loss` have one a lane. A lane with
  /// active 0 is masked and keeps its state. loss[lane] receives the mean loss before the update, NaN included. If
  /// lanes throw, the first one's exception is rethrown after all lanes are done; a lane that threw is unchanged.
  void train_step(std::span<const Batch> batches, std::span<const LaneHyper> hyper,
                  std::span<const std::uint8_t> active, std::span<double> loss);
  /// Trains chunk.steps steps of every active lane that does not throw. `results` has one entry a lane.
  void run(const Chunk& chunk, std::span<LaneResult> results);

  /// Measured begin and end of each pass of a step in stages (ProgramOptions::stages). Returned once, after the first
  /// steps with whole batches.
  std::optional<StepTimes> take_step_times();

  // A step in two halves, for sums of gradients over several batches; train_step does both.

  /// Returns memory for the gradients of a lane. Errors: kResourceExhausted.
  Result<LaneGradients> make_gradients() const;
  /// Computes gradients of the mean loss over `total` samples for the samples in `batch`. Returns the sum of their
  /// losses.
  ///
  /// Writes to `out`, or adds with `add`, in the order of the program's parts. The lane is unchanged. Batch norm uses
  /// the samples of this call only; `out` receives the running statistics that follow.
  double gradients(std::int64_t lane, const Batch& batch, std::int64_t total, const LaneHyper& hyper,
                   LaneGradients& out, bool add = false);
  /// Updates a lane by gradients and counts its step.
  void commit(std::int64_t lane, const LaneGradients& gradients, const LaneHyper& hyper);
  /// Copies the buffers of `from` (running statistics of batch norm) into the lane, and changes nothing else.
  void renew_buffers(std::int64_t lane, const LaneGradients& from);
  /// nn::squared_gradient_norm of `gradients` for the lane, which is unchanged.
  double squared_gradient_norm(std::int64_t lane, const LaneGradients& gradients, const LaneHyper& hyper) const;

  /// Writes predictions (logits) of a lane, [n, …] in canonical order, for a program of float32.
  void predict(std::int64_t lane, const Batch& batch, std::span<float> out);
  /// Writes predictions (logits) of a lane, [n, …] in canonical order, for a program of float64.
  void predict(std::int64_t lane, const Batch& batch, std::span<double> out);
  /// Adds the requested metrics of each lane's predictions on all batches to its sums, in double and in sample order.
  /// Allocates. If it throws, the sums hold some of the batches.
  void evaluate(const BatchSource& batches, std::span<LaneMetrics> lanes);
  /// Writes the loss of each sample, [n], in double; with several positions the mean over them.
  ///
  /// It is the step's loss with `label_smoothing`, from a forward pass in inference form: running statistics, no
  /// dropout. For a model without either, the mean is the loss of train_step up to rounding. With smoothing 0 the sum
  /// is that of evaluate. Not for programs that only predict.
  void losses(std::int64_t lane, const Batch& batch, double label_smoothing, std::span<double> out);

  /// Runs a step of lane 0 and then a prediction, with a call of `done` after every line of plan(), for measuring
  /// times. Lane 0 changes as by train_step. If batches come in parts, it runs one part.
  void profile_step(const Batch& batch, const LaneHyper& hyper, const std::function<void()>& done);

  /// The number of elements of one prediction.
  std::int64_t prediction_size() const;

 private:
  static Result<Program> compile(const step::TrainingStep* train, const step::InferenceStep& infer,
                                 const ProgramOptions& options);
  explicit Program(std::unique_ptr<Executable> executable);
  Executable& at(std::int64_t lane) const;
  Executable& with_state(std::int64_t lane) const;
  Executable& with_training() const;

  std::unique_ptr<Executable> executable_;
  std::vector<LaneResult> results_;  // of train_step
};

}  // namespace lanista::nn
