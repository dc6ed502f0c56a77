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

inline constexpr double kMomentum = 0.9;

/// Of a model by its number: the seed of its weights, and its rate.
std::uint64_t model_seed(std::int64_t model);
nn::LaneHyper model_hyper(const Case& c, std::int64_t model);

/// Starting weights of one model in the order of its training step's state.
struct StartWeights {
  std::vector<Tensor> trained, buffers;
};

/// Which of a case's models a program trains: each number has its own weights and rate.
struct ModelRange {
  std::int64_t first = 0, lanes = 1;
  int threads = 1;
  const nn::Backend* backend = nullptr;  ///< null: own kernels at their best level
};

/// A case in our program: models as lanes, all on one batch.
class LanistaProgram {
 public:
  /// Errors: those of deriving and compiling the step.
  static Result<LanistaProgram> make(const Case& c, const ModelRange& of, std::shared_ptr<const CaseBatch> batch);
  static Result<LanistaProgram> make(const Case& c, std::int64_t lanes, int threads);

  std::int64_t lanes() const { return program_.lanes(); }
  std::int64_t bytes() const { return program_.bytes(); }
  std::int64_t state_bytes() const { return program_.state_format().bytes(); }  ///< of one lane
  double compile_seconds() const { return compile_seconds_; }
  const StepInput& step_work() const { return step_work_; }
  double rate(std::int64_t lane) const { return hyper_[static_cast<std::size_t>(lane)].lr; }
  /// Of a lane as it is now.
  StartWeights weights(std::int64_t lane) const;
  /// One step of every lane; the mean losses before it.
  std::span<const double> step();
  /// The same for lanes [first, first + count) alone.
  std::span<const double> step(std::int64_t first, std::int64_t count);
  /// So many steps of every lane in one chunk, as devices like them; what became of each lane. Throws what the first
  /// lane threw that did not do them all.
  std::span<const nn::LaneResult> run(std::int64_t steps);
  /// Steps of it, for a thread; the program must stay where it is.
  RepeatedWork work();
  /// Back to the starting weights.
  void restart();

 private:
  LanistaProgram(const Case& c, std::int64_t first, nn::Program program, std::shared_ptr<const CaseBatch> batch);

  nn::Program program_;
  std::int64_t first_;
  std::shared_ptr<const CaseBatch> batch_;
  double compile_seconds_ = 0;
  StepInput step_work_;
  std::vector<nn::LaneHyper> hyper_;
  std::vector<std::uint8_t> active_;
  std::vector<double> losses_;
  std::vector<nn::LaneResult> results_;
  std::vector<step::StateTensor> state_;
};

}  // namespace lanista::bench
