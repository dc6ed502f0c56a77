#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lanista/base/memory_budget.h"
#include "lanista/base/result.h"
#include "lanista/base/tensor.h"
#include "lanista/kernels/kernels.h"
#include "lanista/nn/lane_state.h"
#include "lanista/nn/opaque.h"
#include "lanista/nn/plan.h"
#include "lanista/step/training_step.h"

namespace lanista::nn {

enum class Precision { kFloat32, kFloat64 };

/// The numbers of one lane for the coming step; doubles, converted by the kernels.
struct LaneHyper {
  double lr = 0.01;
  double momentum = 0;
  double weight_decay = 0;
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8;
  double clip_norm = 0;  ///< global L2 norm of all gradients; 0: off
  double label_smoothing = 0;
  bool nesterov = false;
  std::span<const double> numbers = {};  ///< in the order of Program::lane_numbers(); none: as the model has them
};

/// An attribute of a model's node that every lane may set for itself (graph::AttrSpec::per_lane).
struct LaneNumber {
  graph::NodeId node;
  std::string attr;
  double value = 0;  ///< of the model that the program was compiled from
};

/// One mini-batch, in canonical order [n, …] (images [n, C, H, W]).
struct Batch {
  std::int64_t size = 0;                       ///< samples, at most ProgramOptions::max_batch
  std::span<const float> features;             ///< token numbers too: whole numbers, exact below 2^24
  std::span<const std::int32_t> labels;        ///< cross-entropy: [n]
  std::span<const float> targets;              ///< mse: [n, …]
  std::span<const std::int64_t> sample_index;  ///< [n] numbers of the samples in the data set; keys of dropout masks
};

struct ProgramOptions {
  std::int64_t lanes = 1;
  bool states = true;  ///< every lane begins with a state; false: lanes are empty until attach()
  std::int64_t max_batch = 32;
  int threads = 1;  ///< that share out the lanes; no sum is ever split, so results do not depend on it
  Precision precision = Precision::kFloat32;
  kernels::Isa isa = kernels::best_isa();
  MemoryBudget* budget = nullptr;            ///< may be null
  const Operators* operators = nullptr;      ///< beyond those shipped; read while compiling; may be null
  const graph::OpTable* step_ops = nullptr;  ///< step::training_ops of the operators, where they lie ready; may be null
  std::function<void(std::int64_t lane)> before_commit = {};  ///< for tests: may throw; the lane is then unchanged
};

/// A training step and its inference twin as flat programs over planned memory, for one or many lanes.
///
/// Runs each lane through the compute section and then its commit, all on one set of activation and gradient buffers a
/// thread. A lane's numbers do not depend on the lane count, the position or the neighbours, to the bit.
/// After construction nothing is allocated. One thread at a time may use a program; it may have threads of its own.
class Program {
 public:
  /// Errors: kResourceExhausted (budget), kUnimplemented (an operator without a kernel, by name).
  static Result<Program> compile(const step::TrainingStep& train, const step::InferenceStep& infer,
                                 const ProgramOptions& options);
  Program(Program&&) noexcept;
  Program& operator=(Program&&) noexcept;
  ~Program();

  std::int64_t lanes() const;
  std::int64_t bytes() const;    ///< of all planned memory, with the states it holds
  std::string describe() const;  ///< operators, kernels, layouts, bytes; one line an instruction
  /// What LaneHyper::numbers stands for; one attribute may stand here several times.
  const std::vector<LaneNumber>& lane_numbers() const;
  /// Every call of a step, of its commit and of a prediction, in order.
  std::vector<PlanLine> plan() const;

  /// Fresh state for a trial, to be attached. Errors: as of LaneState::make.
  Result<LaneState> make_state(std::uint64_t trial_seed) const;
  /// Puts a state of this kind into an empty lane.
  void attach(std::int64_t lane, LaneState state);
  /// Takes a lane's state; the lane is empty then, and must be masked. None from an empty lane.
  LaneState detach(std::int64_t lane);
  const StateKind& state_kind() const;

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
  /// Inference: writes [n, …] predictions (logits) of a lane in canonical order, as double when precision is float64.
  void predict(std::int64_t lane, const Batch& batch, std::span<float> out);
  void predict(std::int64_t lane, const Batch& batch, std::span<double> out);
  /// Per-sample losses of a lane in inference form (label smoothing 0). [n]
  /// (Computed on the host by train; kept out of here on purpose.)

  /// For stopwatches: a step of lane 0, then a prediction, with a call of `done` after every line of plan(). Lane 0
  /// changes as by train_step.
  void rehearse(const Batch& batch, const LaneHyper& hyper, const std::function<void()>& done);

  /// Elements of one prediction.
  std::int64_t prediction_size() const;

 private:
  struct Impl;
  explicit Program(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace lanista::nn
