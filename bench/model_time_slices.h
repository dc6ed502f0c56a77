#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "bench/lanista_program.h"

namespace lanista::bench {

/// Steps of a model before the next one's turn, so that its weights may stay in cache.
inline constexpr int kSliceSteps = 8;

/// Models that each have a program of their own, with one lane, and take turns on one thread; one batch for all.
class ModelTimeSlices {
 public:
  /// Models [first, first + count) of a case. Errors: as of LanistaProgram::make.
  static Result<ModelTimeSlices> make(const Case& c, std::int64_t first, std::int64_t count,
                                      std::shared_ptr<const CaseBatch> batch);

  std::int64_t size() const { return static_cast<std::int64_t>(programs_.size()); }
  std::int64_t bytes() const;
  double compile_seconds() const;
  LanistaProgram& model(std::int64_t i) { return programs_[static_cast<std::size_t>(i)]; }

  /// Some steps of the model whose turn it is.
  void run_slice();
  /// The losses of so many steps, [step, model].
  std::vector<double> losses(int steps);

 private:
  std::vector<LanistaProgram> programs_;
  std::size_t turn_ = 0;
};

}  // namespace lanista::bench
