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
#include "lanista/exec/program/lane_gradients.h"
#include "lanista/exec/program/lane_state.h"
#include "lanista/exec/program/metrics.h"
#include "lanista/exec/program/opaque.h"
#include "lanista/exec/program/plan.h"
#include "lanista/exec/pipeline_parallel/stages.h"
#include "lanista/exec/program/chunk.h"
#include "lanista/model/autodiff/training_step.h"

namespace lanista::nn {

class Backend;
class Executable;

inline constexpr std::int64_t kMaxBatchParts = 4096;  ///< shards of a batch, and parts of a shard

struct ProgramOptions {
  std::int64_t lanes = 1;
  std::int64_t max_batch = 32;
  /// A step's batch is cut in so many shards, and each of them in so many parts; gradients of parts are computed one
  /// after the other, in an arena of the largest part, and summed in order, those of a shard first. GradientSums depend on it.
  std::int64_t shards = 1, accumulate = 1;
  /// Cuts a step into stages for several threads at once; read while compiling. Then `threads` is 1, and a batch comes
  /// in as many parts (shards x accumulate, of which one is 1) as its finest micro-batches. Null: no stages.
  const Stages* stages = nullptr;
  /// That the steps were derived from, for who has others derive them too; read while compiling; may be null.
  const graph::Graph* model = nullptr;
  int threads = 1;  ///< that share out the lanes; no sum is ever split, so results do not depend on it
  Precision precision = Precision::kFloat32;
  const Backend* backend = nullptr;          ///< that compiles the program; null: the CPU's at its best level
  MemoryBudget* budget = nullptr;            ///< may be null
  const Operators* operators = nullptr;      ///< beyond those shipped; read while compiling; may be null
  const graph::OpTable* step_ops = nullptr;  ///< step::training_ops of the operators, where they lie ready; may be null
  std::function<void(std::int64_t lane)> before_commit = {};  ///< for tests: may throw; the lane is then unchanged
};

/// A training step and its inference twin as flat programs over planned memory, for one or many lanes. Lanes are empty
/// until a state is put into them; as long as it is there, the program is its only owner.
///
/// Runs each lane through the compute section and then its commit, all on one set of activation and gradient buffers a
/// thread. A lane's numbers do not depend on the lane count, the position or the neighbours, to the bit.
/// After construction nothing is allocated. One thread at a time may use a program; it may have threads of its own.
class Program {
 public:
  /// Errors: kResourceExhausted (budget), kUnimplemented (an operator without a kernel, by name).
  static Result<Program> compile(const step::TrainingStep& train, const step::InferenceStep& infer,
                                 const ProgramOptions& options);
  /// One that only predicts: its states have no slots, and it does no steps. Errors: the same.
  static Result<Program> compile(const step::InferenceStep& infer, const ProgramOptions& options);
  Program(Program&&) noexcept;
  Program& operator=(Program&&) noexcept;
  ~Program();

  std::int64_t lanes() const;
  std::int64_t bytes() const;    ///< of all planned memory, with the states it holds
  std::string describe() const;  ///< operators, kernels, layouts, bytes; one line an instruction
  std::int64_t shards() const;  ///< that the batch of a step is cut in
  /// What ranks that share steps (Chunk::peers) tell each other of a shard.
  std::int64_t shard_bytes() const;
  /// What LaneHyper::numbers stands for; one attribute may stand here several times.
  const std::vector<LaneAttr>& lane_attrs() const;
  /// Every call of a step, of its commit and of a prediction, in order.
  std::vector<PlanLine> plan() const;

  /// Executable::reserve_lanes, for no more lanes than there are.
  Result<void> reserve_lanes(std::int64_t lanes);
  /// Fresh state for a trial, to be attached. Errors: as of LaneState::make.
  Result<LaneState> make_state(std::uint64_t trial_seed) const;
  /// Puts a state of this kind into an empty lane. If it throws, the state is the caller's as before.
  void attach(std::int64_t lane, LaneState&& state);
  /// Takes a lane's state; the lane is empty then, and must be masked. None from an empty lane.
  LaneState detach(std::int64_t lane);
  /// Puts a fresh state into an empty lane. Errors: as of make_state.
  Result<void> begin(std::int64_t lane, std::uint64_t trial_seed);
  /// Puts a copy of a lane's state into an empty lane, as another trial's (LaneState::clone). Errors: as of make_state;
  /// then the lane is empty still.
  Result<void> clone(std::int64_t from, std::int64_t to, std::uint64_t trial_seed);
  const StateFormat& state_format() const;

  // Of a lane with a state, as in LaneState.
  void initialise(std::int64_t lane, std::uint64_t trial_seed);
  std::vector<Tensor> extract(std::int64_t lane) const;
  Result<void> insert(std::int64_t lane, std::span<const Tensor> state);
  std::int64_t step_count(std::int64_t lane) const;

  /// One training step. `batches` has one entry (shared by all lanes) or one a lane; `hyper` and `loss` one a lane;
  /// `active` one a lane (0: the lane is masked: not computed, not changed). loss[lane] = mean loss before the update,
  /// NaN included. What a lane throws reaches the caller when all lanes are done (the first lane's, if several throw);
  /// such a lane is unchanged, as its step_count tells, and the others have their step.
  void train_step(std::span<const Batch> batches, std::span<const LaneHyper> hyper,
                  std::span<const std::uint8_t> active, std::span<double> loss);
  /// Steps of the active lanes, one after the other: chunk.steps of them for every lane that does not throw. `results`
  /// has one entry a lane.
  void run(const Chunk& chunk, std::span<LaneResult> results);

  /// When the passes of a step in stages began and ended (ProgramOptions::stages): told once, behind the first steps
  /// of whole batches.
  std::optional<StepTimes> take_step_times();

  // A step in two halves, for who sums gradients over more than one batch; train_step is both.

  /// Room for gradients of a lane. Errors: kResourceExhausted.
  Result<LaneGradients> make_gradients() const;
  /// Gradients of the mean loss over `total` samples, of which `batch` holds some: written to `out`, or added to what
  /// it holds, in the order of the program's parts. The lane is unchanged. Returns the sum of the batch's losses. Batch
  /// norm knows the samples of this call alone; `out` gets the running statistics as they would be after it.
  double gradients(std::int64_t lane, const Batch& batch, std::int64_t total, const LaneHyper& hyper,
                   LaneGradients& out, bool add = false);
  /// The update of a lane by gradients; its step is counted.
  void commit(std::int64_t lane, const LaneGradients& gradients, const LaneHyper& hyper);
  /// The buffers alone: batch norm's running statistics as they are after the batches of `from`. Parameters, slots and
  /// steps stay as they are.
  void renew_buffers(std::int64_t lane, const LaneGradients& from);
  /// Of such gradients what Chunk::watched tells of a step's own: the lane is unchanged.
  double squared_gradient_norm(std::int64_t lane, const LaneGradients& gradients, const LaneHyper& hyper) const;

  /// Inference: writes [n, …] predictions (logits) of a lane in canonical order, as double when precision is float64.
  void predict(std::int64_t lane, const Batch& batch, std::span<float> out);
  void predict(std::int64_t lane, const Batch& batch, std::span<double> out);
  /// Measures lanes' predictions for all batches, each lane on every batch, and adds to its sums: in double and in
  /// sample order, whatever the batches and the precision. Allocates; what it throws leaves the sums of some batches.
  void evaluate(const BatchSource& batches, std::span<LaneMetrics> lanes);
  /// The loss of each sample, [n] (the mean over its positions, where it has some), by the step's loss with this smoothing of labels: of the forward pass in inference
  /// form (running statistics, no dropout), not of the step's own, which masks and normalises by the batch. Where a
  /// model has neither, their mean is the loss that train_step tells, to its rounding; with smoothing 0 their sum is
  /// that of evaluate. In double, from predictions in the program's precision. Not of a program that only predicts.
  void losses(std::int64_t lane, const Batch& batch, double label_smoothing, std::span<double> out);

  /// For stopwatches: a step of lane 0, then a prediction, with a call of `done` after every line of plan(). Lane 0
  /// changes as by train_step. Where batches come in parts, of one part, as the plan has them.
  void profile_step(const Batch& batch, const LaneHyper& hyper, const std::function<void()>& done);

  /// Elements of one prediction.
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
