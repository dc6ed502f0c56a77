#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "bench/arms.h"
#include "bench/cases.h"
#include "bench/step_work.h"
#include "lanista/exec/program/backend.h"

namespace lanista::bench {

/// Momentum of all cases.
inline constexpr double kMomentum = 0.9;

/// The seed for the weights of a model, by its number.
std::uint64_t model_seed(std::int64_t model);

/// The learning rate and the momentum of a model, by its number.
program::LaneHyper model_hyper(const Case& c, std::int64_t model);

/// The weights of one model, in the order of the state of its training step.
struct StartWeights {
  std::vector<Tensor> trained, buffers;
};

/// The models of a case that a program trains. The number of a model decides its weights and rate.
struct ModelRange {
  std::int64_t first = 0, lanes = 1;          ///< Number of the first model, and number of models.
  int threads = 1;                            ///< Threads of the program.
  const program::Backend* backend = nullptr;  ///< null: lanista kernels at the best level of this CPU.
  bool own_batches = false;                   ///< True: each lane has a copy of the batch, as if batches differed.
};

/// A compiled lanista program for a case. Its lanes are models that train on one batch.
class LanistaProgram {
 public:
  /// Compiles the training step and initialises the lanes. Errors: those of deriving and compiling the step.
  static Result<LanistaProgram> make(const Case& c, const ModelRange& of, std::shared_ptr<const CaseBatch> batch);
  /// Models [0, lanes) with a batch of their own.
  static Result<LanistaProgram> make(const Case& c, std::int64_t lanes, int threads);

  std::int64_t lanes() const { return program_.lanes(); }
  std::int64_t bytes() const { return program_.bytes(); }
  std::int64_t state_bytes() const { return program_.state_format().bytes(); }  ///< Bytes of the state of one lane.
  double compile_seconds() const { return compile_seconds_; }
  const StepInput& step_work() const { return step_work_; }
  double rate(std::int64_t lane) const { return hyper_[static_cast<std::size_t>(lane)].lr; }
  /// The present weights of a lane.
  StartWeights weights(std::int64_t lane) const;
  /// Runs one step of each lane and returns the mean losses before it, [lanes].
  std::span<const double> step();
  /// Runs one step of lanes [first, first + count). The other lanes are masked.
  std::span<const double> step(std::int64_t first, std::int64_t count);
  /// Runs `steps` steps of each lane in one chunk and returns the results, [lanes]. Throws the exception of the first
  /// lane that failed.
  std::span<const program::LaneResult> run(std::int64_t steps);
  /// The work of one thread: a step of each lane. The program must not move while the work exists.
  RepeatedWork work();
  /// Resets each lane to its start weights.
  void restart();

 private:
  LanistaProgram(const Case& c, const ModelRange& of, program::Program program, std::shared_ptr<const CaseBatch> batch);

  program::Program program_;
  std::int64_t first_;
  std::shared_ptr<const CaseBatch> batch_;
  std::vector<program::Batch> batches_;  // of one step: one for all lanes, or one a lane
  double compile_seconds_ = 0;
  StepInput step_work_;
  std::vector<program::LaneHyper> hyper_;
  std::vector<std::uint8_t> active_;
  std::vector<double> losses_;
  std::vector<program::LaneResult> results_;
  std::vector<autodiff::StateTensor> state_;
};

}  // namespace lanista::bench
