#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lanista/bench/cases.h"
#include "lanista/bench/step_work.h"

namespace lanista::bench {

inline constexpr double kMomentum = 0.9;

/// Starting weights of one model in the order of its training step's state.
struct StartWeights {
  std::vector<Tensor> trained, buffers;
};

/// A case in our program: `lanes` models on one batch, each with its own weights and rate.
class OurProgram {
 public:
  /// Errors: those of deriving and compiling the step.
  static Result<OurProgram> make(const Case& c, std::int64_t lanes, int threads);

  const StepWork& work() const { return work_; }
  double rate(std::int64_t lane) const { return hyper_[static_cast<std::size_t>(lane)].lr; }
  /// Of a lane as it is now.
  StartWeights weights(std::int64_t lane) const;
  /// One step of every lane; the mean losses before it.
  std::span<const double> step();

 private:
  OurProgram(const Case& c, nn::Program program);

  nn::Program program_;
  CaseBatch batch_;
  StepWork work_;
  std::vector<nn::LaneHyper> hyper_;
  std::vector<std::uint8_t> active_;
  std::vector<double> losses_;
  std::vector<step::StateTensor> state_;
};

}  // namespace lanista::bench
