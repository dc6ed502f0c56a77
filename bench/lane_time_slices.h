#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "bench/lanista_program.h"
#include "bench/model_time_slices.h"

namespace lanista::bench {

/// Models of one structure as lanes of one program, of which a few train at a time for some steps.
///
/// A worker of lanista trains a lane group in the same way: it takes a few trials for an epoch.
class LaneTimeSlices {
 public:
  /// Models [first, first + count) of a case. Errors: those of LanistaProgram::make.
  static Result<LaneTimeSlices> make(const Case& c, std::int64_t first, std::int64_t count,
                                     std::shared_ptr<const CaseBatch> batch);

  /// Models [0, models), divided among `workers` programs, or among fewer if there are fewer models. Errors: those of
  /// LanistaProgram::make.
  static Result<std::vector<LaneTimeSlices>> share(const Case& c, std::int64_t models, std::int64_t workers,
                                                   const std::shared_ptr<const CaseBatch>& batch);

  LanistaProgram& program() { return program_; }
  const LanistaProgram& program() const { return program_; }
  /// The work of one thread: a time slice of a few lanes. This object must not move while the work exists.
  RepeatedWork work();

 private:
  LaneTimeSlices(LanistaProgram program, std::int64_t lanes_per_slice)
      : program_(std::move(program)), lanes_per_slice_(lanes_per_slice) {}
  void run_slice();

  LanistaProgram program_;
  std::int64_t lanes_per_slice_;  // a divisor of the number of lanes
  std::int64_t turn_ = 0;
};

/// The work of each worker, for one thread each. The workers must not move while the works exist.
std::vector<RepeatedWork> work_per_core(std::vector<LaneTimeSlices>& workers);

}  // namespace lanista::bench
