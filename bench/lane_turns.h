#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "bench/model_turns.h"
#include "bench/our_program.h"

namespace lanista::bench {

/// What a worker of lanista does with models of one structure: they are lanes of one program, a few at a time for some
/// steps, as an executor takes a few trials for an epoch.
class LaneTurns {
 public:
  /// Models [first, first + count) of a case. Errors: as of OurProgram::make.
  static Result<LaneTurns> make(const Case& c, std::int64_t first, std::int64_t count,
                                std::shared_ptr<const CaseBatch> batch);

  /// Models [0, models) on that many workers, each with a share of its own; fewer where there are fewer models.
  static Result<std::vector<LaneTurns>> share(const Case& c, std::int64_t models, std::int64_t workers,
                                              const std::shared_ptr<const CaseBatch>& batch);

  OurProgram& program() { return program_; }
  const OurProgram& program() const { return program_; }
  /// Turns of it, for a thread; must stay where it is.
  Work work();

 private:
  LaneTurns(OurProgram program, std::int64_t together) : program_(std::move(program)), together_(together) {}
  void burst();

  OurProgram program_;
  std::int64_t together_;  // divides the lanes
  std::int64_t turn_ = 0;
};

/// Of each, for a thread; the workers must stay where they are.
std::vector<Work> works_of(std::vector<LaneTurns>& workers);

}  // namespace lanista::bench
