#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/base/tensor.h"
#include "lanista/exec/pipeline_parallel/stages.h"
#include "lanista/exec/program/chunk.h"
#include "lanista/exec/program/lane_gradients.h"
#include "lanista/exec/program/lane_state.h"
#include "lanista/exec/program/metrics.h"
#include "lanista/exec/program/plan.h"

namespace lanista::program {

/// The fixed properties of an executable.
struct ExecutableProperties {
  std::int64_t lanes = 0;                           ///< Number of lanes.
  std::int64_t prediction_size = 0;                 ///< Elements of one prediction.
  bool trains = true;                               ///< False: it only predicts.
  std::shared_ptr<const StateFormat> state_format;  ///< Format of all states; never null.
  std::vector<LaneAttr> lane_attrs;                 ///< Node attributes that LaneHyper::lane_attrs sets, in its order.
  std::vector<PlanLine> plan;                       ///< Program::plan: one line a kernel call, one for the commit.
  std::int64_t shards = 1;                          ///< Shards of a step's batch; 1 with stages.
  std::int64_t shard_bytes = 0;                     ///< Bytes that a rank sends for one shard accumulator.
};

/// The destination of predictions in canonical order. Predictions are converted to float or double, whichever the
/// caller gives; the program's precision may differ.
using PredictionBuffer = std::variant<std::span<float>, std::span<double>>;

/// Role of an executable: memory of the device, and values in program layout.
class ExecutableMemory {
 public:
  virtual ~ExecutableMemory() = default;
  /// Bytes of all planned memory and of the states that are attached now.
  virtual std::int64_t bytes() const = 0;
  /// Returns the state of a trial before its first step, to be attached. Errors: kResourceExhausted.
  virtual Result<LaneState> make_state(std::uint64_t trial_seed) const = 0;
  /// Returns zeroed memory for the gradients of one lane. Errors: kResourceExhausted.
  virtual Result<LaneGradients> make_gradients() const = 0;
  /// Reserves device memory for `lanes` attached states, until the next call of this function. A backend that allocates
  /// all lanes at compilation does nothing. Errors: kResourceExhausted.
  virtual Result<void> reserve_lanes(std::int64_t lanes) {
    static_cast<void>(lanes);
    return {};
  }
};

/// Role of an executable: the states in its lanes. All lanes are empty at first.
///
/// States enter and leave as host values. The executable owns an attached state and may keep it in device memory.
/// Attaching or detaching may copy the whole state, so train::LaneSlots keeps states in lanes.
class LaneStore {
 public:
  virtual ~LaneStore() = default;
  /// Moves a state of the executable's format into an empty lane. If it throws, the caller keeps the state.
  virtual void attach(std::int64_t lane, LaneState&& state) = 0;
  /// Takes the state out of a lane, which is then empty; an empty lane gives a state that converts to false. It cannot
  /// fail, because host memory of an attached state stays reserved.
  virtual LaneState detach(std::int64_t lane) = 0;
  /// Puts a copy of lane `from` into the empty lane `to`, for another trial with its own seed. Errors:
  /// kResourceExhausted; then lane `to` is still empty.
  virtual Result<void> clone(std::int64_t from, std::int64_t to, std::uint64_t trial_seed) = 0;
  /// Returns a copy of an attached state as tensors (LaneState::extract); the state stays attached.
  virtual std::vector<Tensor> extract_state(std::int64_t lane) const = 0;
};

/// Role of an executable: whole training steps.
class StepRunner {
 public:
  virtual ~StepRunner() = default;
  /// Starts the steps of the active lanes. After wait(), `results` has the result of each active lane; entries of
  /// masked lanes are unchanged. `chunk`, all it refers to, and `results` must live until then.
  virtual void run(const Chunk& chunk, std::span<LaneResult> results) = 0;
  /// Waits until the steps of the last run() are done.
  virtual void wait() = 0;
  /// Steps done by the attached state; -1 if the lane is empty.
  virtual std::int64_t step_count(std::int64_t lane) const = 0;
  /// Returns measured times of a step in stages, once, after the first steps. Nothing before that, after that, and
  /// without stages.
  virtual std::optional<StepTimes> take_step_times() { return std::nullopt; }
};

/// Role of an executable: a training step in two halves, gradients and commit.
class GradientRunner {
 public:
  virtual ~GradientRunner() = default;
  /// Computes gradients of one batch without a change of the lane: Program::gradients.
  virtual double gradients(std::int64_t lane, const Batch& batch, std::int64_t total, const LaneHyper& hyper,
                           LaneGradients& out, bool add) = 0;
  /// Updates a lane by gradients and counts its step: Program::commit.
  virtual void commit(std::int64_t lane, const LaneGradients& gradients, const LaneHyper& hyper) = 0;
  /// Copies only the buffers of `from` into the lane: Program::renew_buffers.
  virtual void renew_buffers(std::int64_t lane, const LaneGradients& from) = 0;
  /// Returns the squared norm of gradients: Program::squared_gradient_norm.
  virtual double squared_gradient_norm(std::int64_t lane, const LaneGradients& gradients,
                                       const LaneHyper& hyper) const = 0;
};

/// Role of an executable: forward passes, and measured times.
class LaneEvaluator {
 public:
  virtual ~LaneEvaluator() = default;
  /// Writes the predictions of a lane in canonical order: Program::predict.
  virtual void predict(std::int64_t lane, const Batch& batch, PredictionBuffer out) = 0;
  /// Adds metrics of lanes to their sums: Program::evaluate. Predictions need not leave the device.
  virtual void evaluate(const BatchSource& batches, std::span<LaneMetrics> lanes) = 0;
  /// Writes the loss of each sample: Program::losses.
  virtual void losses(std::int64_t lane, const Batch& batch, double label_smoothing, std::span<double> out) = 0;
  /// Runs one step and one prediction of lane 0 with a callback a line of the plan: Program::profile_step.
  virtual void profile_step(const Batch& batch, const LaneHyper& hyper, const std::function<void()>& done) = 0;
};

/// The objects that carry out the roles of an executable. The executable owns them, and one object may have several
/// roles.
struct ExecutableRoles {
  ExecutableMemory* memory = nullptr;   ///< Memory and fresh values; never null.
  LaneStore* lanes = nullptr;           ///< States in lanes; never null.
  StepRunner* steps = nullptr;          ///< Whole steps. Never null; used only for programs that train.
  GradientRunner* gradients = nullptr;  ///< Steps in two halves. Never null; used only for programs that train.
  LaneEvaluator* evaluator = nullptr;   ///< Forward passes; never null.
};

/// A compiled program on one device. Kernels, layouts and memory are private to it.
///
/// Its work is divided into roles. A wrapper implements the roles that it changes and returns those of the wrapped
/// executable for the rest. The caller (Program) checks that lanes exist, are empty or occupied as needed, and that
/// states have the right format. One thread at a time.
class Executable {
 public:
  explicit Executable(ExecutableProperties properties) : properties_(std::move(properties)) {}
  virtual ~Executable() = default;
  Executable(const Executable&) = delete;
  Executable& operator=(const Executable&) = delete;

  /// The fixed properties, valid as long as the executable.
  const ExecutableProperties& properties() const { return properties_; }
  /// A text for people: operators, kernels, layouts and bytes, one line an instruction.
  virtual std::string describe() const = 0;
  /// The objects that implement the roles. A call of a role may replace them, so do not keep them across calls.
  virtual ExecutableRoles roles() = 0;

  ExecutableMemory& memory() { return *roles().memory; }            ///< Memory and fresh values.
  LaneStore& lanes() { return *roles().lanes; }                     ///< States in lanes.
  StepRunner& steps() { return *roles().steps; }                    ///< Whole steps.
  GradientRunner& gradient_runner() { return *roles().gradients; }  ///< Steps in two halves.
  LaneEvaluator& evaluator() { return *roles().evaluator; }         ///< Forward passes.

 private:
  ExecutableProperties properties_;
};

/// An executable with all roles in one object, which derives from this class.
class SingleObjectExecutable : public Executable,
                               public ExecutableMemory,
                               public LaneStore,
                               public StepRunner,
                               public GradientRunner,
                               public LaneEvaluator {
 public:
  using Executable::Executable;
  ExecutableRoles roles() final { return {this, this, this, this, this}; }
};

}  // namespace lanista::program
