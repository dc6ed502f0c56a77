#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "bench/lanista_program.h"

namespace lanista::bench {

/// Steps of one time slice. During these the weights of the model may stay in the cache.
inline constexpr int kSliceSteps = 8;

/// Models with one program each, which train in turn on one thread and share a batch.
class ModelTimeSlices {
 public:
  /// Models [first, first + count) of a case. Errors: those of LanistaProgram::make.
  static Result<ModelTimeSlices> make(const Case& c, std::int64_t first, std::int64_t count,
                                      std::shared_ptr<const CaseBatch> batch);

  std::int64_t size() const { return static_cast<std::int64_t>(programs_.size()); }
  /// Memory of all programs in bytes.
  std::int64_t bytes() const;
  /// Seconds for compiling all programs.
  double compile_seconds() const;
  LanistaProgram& model(std::int64_t i) { return programs_[static_cast<std::size_t>(i)]; }

  /// Runs kSliceSteps steps of the next model.
  void run_slice();
  /// Runs `steps` steps of each model and returns the losses, [step, model].
  std::vector<double> losses(int steps);

 private:
  std::vector<LanistaProgram> programs_;
  std::size_t turn_ = 0;
};

}  // namespace lanista::bench
