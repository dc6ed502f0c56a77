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

namespace lanista::program {

class Backend;
class Executable;

inline constexpr std::int64_t kMaxBatchParts = 4096;  ///< Most shards of a batch, and most parts of a shard.

/// The options with which a program is compiled.
struct ProgramOptions {
  std::int64_t lanes = 1;       ///< Number of lanes, from 1.
  std::int64_t max_batch = 32;  ///< Most samples of a batch, from 1.
  /// A step's batch is divided into `shards` ranges of neighbouring samples, and each shard into `accumulate` parts;
  /// both are from 1 to kMaxBatchParts. Gradients of parts are computed one after the other, in an arena of the largest
  /// part. They are summed in order, within a shard first. The bits of a step depend on both numbers.
  std::int64_t shards = 1, accumulate = 1;
  /// The stages of a pipeline; null: none. Read while compiling. With stages `threads` is 1, one of shards and
  /// accumulate is 1, and the other is Stages::pieces().
  const Stages* stages = nullptr;
  /// The model of the steps, from which other processes derive them again. Read while compiling; may be null.
  const graph::Graph* model = nullptr;
  int threads = 1;  ///< Threads that share the lanes; no sum is split, so results do not depend on it.
  Precision precision = Precision::kFloat32;  ///< Element type of parameters, gradients and predictions.
  const Backend* backend = nullptr;           ///< Compiling backend; null: the CPU backend at its best level.
  MemoryBudget* budget = nullptr;  ///< Budget of planned memory and states, which outlives the program; null: no limit.
  const Operators* operators = nullptr;  ///< Caller's operators, read while compiling; null: the shipped ones.
  /// Result of autodiff::training_ops for these operators, to save the work; null: computed.
  const graph::OpTable* step_ops = nullptr;
  /// Test hook before each commit of run() and train_step(), not of commit(). If it throws, the lane is unchanged.
  std::function<void(std::int64_t lane)> before_commit = {};
};

/// A training step and its inference step as flat programs over planned memory, for one or many lanes.
///
/// A lane is empty until a state is attached, and then the program owns that state. A step runs each lane through the
/// compute section and then the commit, with one set of activation and gradient buffers a thread. The bits of a lane do
/// not depend on the number of lanes, its position or its neighbours. Steps and predictions allocate nothing.
///
/// Lanes are numbered from 0. A call that breaks a requirement, such as a lane that is empty or does not exist, throws
/// InternalError. One thread at a time may use a program; it may have threads of its own.
class Program {
 public:
  /// Compiles a program that trains and predicts. Errors: kInvalidArgument (an option out of range, an instruction set
  /// level that the CPU lacks, or stages of another model), kResourceExhausted (budget, memory or threads of the
  /// system), kUnimplemented (an operator without a kernel, by name).
  static Result<Program> compile(const autodiff::TrainingStep& train, const autodiff::InferenceStep& infer,
                                 const ProgramOptions& options);
  /// Compiles a program that only predicts; its states have no optimiser slots, and functions that train throw
  /// InternalError. Errors: kInvalidArgument, kResourceExhausted, kUnimplemented, as for a program that trains.
  static Result<Program> compile(const autodiff::InferenceStep& infer, const ProgramOptions& options);
  Program(Program&&) noexcept;
  Program& operator=(Program&&) noexcept;
  ~Program();

  std::int64_t lanes() const;  ///< Number of lanes, empty ones included.
  std::int64_t bytes() const;  ///< Bytes of all planned memory and of the states that are attached now.
  /// Text for people: sizes, the state tensors with their layouts, then one line a kernel call.
  std::string describe() const;
  std::int64_t shards() const;  ///< Shards of a step's batch; 1 for a program in stages.
  /// Bytes that a rank sends for one shard accumulator (ShardRange), when ranks share steps (Chunk::communicator).
  std::int64_t shard_bytes() const;
  /// The node attributes that LaneHyper::lane_attrs sets, in the order of its entries. An attribute that several calls
  /// read is listed once for each.
  const std::vector<LaneAttr>& lane_attrs() const;
  /// Every call of a step, then the commit as one line, then every call of a prediction. A program that only predicts
  /// has only the last.
  std::vector<PlanLine> plan() const;

  /// Reserves device memory for `lanes` attached states; numbers above lanes() count as lanes(). Backends that allocate
  /// all lanes at compilation do nothing. Errors: kResourceExhausted.
  Result<void> reserve_lanes(std::int64_t lanes);
  /// Returns the state of a trial before its first step, to be attached. It depends on the seed only. Errors:
  /// kResourceExhausted.
  Result<LaneState> make_state(std::uint64_t trial_seed) const;
  /// Moves a state of this program's format into an empty lane. If it throws, the caller keeps the state.
  void attach(std::int64_t lane, LaneState&& state);
  /// Takes the state out of a lane, which is then empty and must be masked in steps. For an empty lane, returns a state
  /// that converts to false.
  LaneState detach(std::int64_t lane);
  /// Attaches make_state(trial_seed) to an empty lane. Errors: kResourceExhausted.
  Result<void> begin(std::int64_t lane, std::uint64_t trial_seed);
  /// Puts a copy of the state in lane `from` into the empty lane `to`, with the seed of another trial. Errors:
  /// kResourceExhausted; then lane `to` is still empty.
  Result<void> clone(std::int64_t from, std::int64_t to, std::uint64_t trial_seed);
  /// The format (tensor layouts and element type) that all states of the program have. Valid as long as the program.
  const StateFormat& state_format() const;

  /// Overwrites the state in a lane by make_state(trial_seed): LaneState::initialise.
  void initialise(std::int64_t lane, std::uint64_t trial_seed);
  /// Returns a copy of the state in a lane as tensors in canonical order: LaneState::extract.
  std::vector<Tensor> extract(std::int64_t lane) const;
  /// Replaces the whole state in a lane by tensors: LaneState::insert. Errors: kInvalidArgument (a tensor that is
  /// missing, extra or does not fit, by name); then the state is unchanged.
  Result<void> insert(std::int64_t lane, std::span<const Tensor> state);
  /// Steps done by the state in a lane, which must not be empty.
  std::int64_t step_count(std::int64_t lane) const;

  /// Trains one step of the active lanes; all of them must have a state.
  ///
  /// `batches` has one entry for all lanes, or one a lane. `hyper`, `active` and `loss` have one entry a lane. A lane
  /// with active 0 is masked and keeps its state. loss[lane] receives the mean loss before the update, NaN included; it
  /// stays for masked and failed lanes. If lanes throw, the exception of the lowest such lane is rethrown after all
  /// lanes are done. A lane that threw is unchanged.
  void train_step(std::span<const Batch> batches, std::span<const LaneHyper> hyper,
                  std::span<const std::uint8_t> active, std::span<double> loss);
  /// Trains chunk.steps steps of every active lane, and returns when they are done. A lane that throws stops there, and
  /// its LaneResult has the exception. `results` has one entry a lane; entries of masked lanes are unchanged.
  void run(const Chunk& chunk, std::span<LaneResult> results);

  /// Returns the measured begin and end of each pass of one step in stages (ProgramOptions::stages). There is a result
  /// once, after the first 7 steps with batches of max_batch samples. Nothing before, after that, or without stages.
  std::optional<StepTimes> take_step_times();

  // A step in two halves, for sums of gradients over several batches; train_step does both.

  /// Returns zeroed memory for the gradients and new buffers of one lane, owned by the caller. Errors:
  /// kResourceExhausted.
  Result<LaneGradients> make_gradients() const;
  /// Computes the gradients of (sum of the losses of the samples in `batch`) / `total`. Returns that sum of losses, not
  /// divided.
  ///
  /// Replaces the gradients in `out`, or adds to them with `add`, in the order of the program's parts. `total` is at
  /// least batch.size. The lane is unchanged. Batch norm uses the samples of this call only; `out` receives the running
  /// statistics that follow.
  double gradients(std::int64_t lane, const Batch& batch, std::int64_t total, const LaneHyper& hyper,
                   LaneGradients& out, bool add = false);
  /// Updates the parameters and buffers of a lane by gradients of this program's format, and counts one step.
  void commit(std::int64_t lane, const LaneGradients& gradients, const LaneHyper& hyper);
  /// Copies the buffers that a step renews (running statistics of batch norm) from `from` into the lane. Other buffers,
  /// parameters, slots and the step count stay.
  void renew_buffers(std::int64_t lane, const LaneGradients& from);
  /// Returns the sum of squares of `gradients` (program::squared_gradient_norm) with the optimiser state of the lane,
  /// which is unchanged.
  double squared_gradient_norm(std::int64_t lane, const LaneGradients& gradients, const LaneHyper& hyper) const;

  /// Writes predictions (logits, or numbers as the model gives them) of a lane: [batch.size, …] in canonical order,
  /// converted to float. `out` has batch.size * prediction_size() elements. Labels and targets of the batch are not
  /// read.
  void predict(std::int64_t lane, const Batch& batch, std::span<float> out);
  /// Writes predictions of a lane: [batch.size, …] in canonical order, converted to double. `out` has
  /// batch.size * prediction_size() elements.
  void predict(std::int64_t lane, const Batch& batch, std::span<double> out);
  /// Evaluates lanes on all batches of a source: adds the requested metrics of their predictions to their sums, in
  /// double and in sample order. Weights of samples are ignored. Labels and targets are not checked: labels must be
  /// below the number of classes. Allocates. If it throws, the sums hold some of the batches.
  void evaluate(const BatchSource& batches, std::span<LaneMetrics> lanes);
  /// Writes the loss of each sample, [batch.size], in double; for samples with a label at every position, the mean over
  /// the positions.
  ///
  /// It is the step's loss with `label_smoothing`, from a forward pass in inference form: running statistics, no
  /// dropout, no weights. For a model without batch norm and dropout, the mean over unweighted samples is the loss of
  /// train_step up to rounding. With smoothing 0, the sum over samples times the labels of a sample is MetricSums::loss
  /// of evaluate. Not for programs that only predict.
  void losses(std::int64_t lane, const Batch& batch, double label_smoothing, std::span<double> out);

  /// Runs a step of lane 0 and then a prediction, with a call of `done` after every line of plan(), so that the caller
  /// can measure times. Lane 0 changes as by train_step. If batches come in parts, it runs and commits only the first
  /// part. Not for programs that only predict.
  void profile_step(const Batch& batch, const LaneHyper& hyper, const std::function<void()>& done);

  /// The number of elements of one sample's prediction.
  std::int64_t prediction_size() const;

 private:
  static Result<Program> compile(const autodiff::TrainingStep* train, const autodiff::InferenceStep& infer,
                                 const ProgramOptions& options);
  explicit Program(std::unique_ptr<Executable> executable);
  Executable& at(std::int64_t lane) const;
  Executable& with_state(std::int64_t lane) const;
  Executable& with_training() const;

  std::unique_ptr<Executable> executable_;
  std::vector<LaneResult> results_;  // of train_step
};

}  // namespace lanista::program
