#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "bench/cells.h"
#include "bench/lanista_program.h"
#include "lanista/exec/program/backend.h"

namespace lanista::bench {

/// Models that are trained at the same time, on one batch.
class Population {
 public:
  virtual ~Population() = default;
  virtual std::int64_t models() const = 0;
  /// One step of all; the losses before it. Throws what a model throws.
  virtual std::vector<double> step() = 0;
  virtual void run(std::int64_t steps) = 0;
  virtual std::int64_t bytes() const = 0;
  virtual double compile_seconds() const = 0;
};

/// Cells (random_cells), each a machine of one lane, numbered as lanes are: the weights and rates of LanistaProgram.
/// Machines of blocks go in one launch; others are fed by eight threads at most, one machine after the other.
Result<std::unique_ptr<Population>> cells_on(const nn::Backend& backend, std::span<const Cell> cells,
                                             const std::shared_ptr<const CaseBatch>& batch);

/// The same under own kernels, a program each.
Result<std::vector<LanistaProgram>> cells_on_host(std::span<const Cell> cells,
                                                  const std::shared_ptr<const CaseBatch>& batch);
/// For every core: turns of its share of the programs, which stay where they are.
std::vector<RepeatedWork> work_per_core(std::vector<LanistaProgram>& programs, std::int64_t cores);

}  // namespace lanista::bench
