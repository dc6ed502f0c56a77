#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "bench/lanista_program.h"
#include "bench/model_time_slices.h"

namespace lanista::bench {

/// What a worker of lanista does with models of one structure: they are lanes of one program, a few at a time for some
/// steps, as an executor takes a few trials for an epoch.
class LaneTimeSlices {
 public:
  /// Models [first, first + count) of a case. Errors: as of LanistaProgram::make.
  static Result<LaneTimeSlices> make(const Case& c, std::int64_t first, std::int64_t count,
                                     std::shared_ptr<const CaseBatch> batch);

  /// Models [0, models) on that many workers, each with a share of its own; fewer where there are fewer models.
  static Result<std::vector<LaneTimeSlices>> share(const Case& c, std::int64_t models, std::int64_t workers,
                                                   const std::shared_ptr<const CaseBatch>& batch);

  LanistaProgram& program() { return program_; }
  const LanistaProgram& program() const { return program_; }
  /// Turns of it, for a thread; must stay where it is.
  RepeatedWork work();

 private:
  LaneTimeSlices(LanistaProgram program, std::int64_t lanes_per_slice)
      : program_(std::move(program)), lanes_per_slice_(lanes_per_slice) {}
  void run_slice();

  LanistaProgram program_;
  std::int64_t lanes_per_slice_;  // divides the lanes
  std::int64_t turn_ = 0;
};

/// Of each, for a thread; the workers must stay where they are.
std::vector<RepeatedWork> work_per_core(std::vector<LaneTimeSlices>& workers);

}  // namespace lanista::bench
