#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "bench/cells.h"
#include "bench/lanista_program.h"
#include "lanista/exec/program/backend.h"

namespace lanista::bench {

/// Models that train together on one batch.
class Population {
 public:
  virtual ~Population() = default;
  /// Number of models.
  virtual std::int64_t models() const = 0;
  /// Runs one step of each model and returns the losses before it. Throws the exception of a model that fails.
  virtual std::vector<double> step() = 0;
  /// Runs `steps` steps of each model. Throws the exception of a model that fails.
  virtual void run(std::int64_t steps) = 0;
  /// Memory of the programs in bytes.
  virtual std::int64_t bytes() const = 0;
  /// Seconds for compiling the programs and making their first states.
  virtual double compile_seconds() const = 0;
};

/// Compiles each cell as an executable of one lane. Cell i has the seed and the rate of model i (model_seed,
/// model_hyper).
///
/// Executables of the block backend run in one launch. For others, up to eight threads run one executable after the
/// other. Errors: those of deriving and compiling a step.
Result<std::unique_ptr<Population>> cells_on(const program::Backend& backend, std::span<const Cell> cells,
                                             const std::shared_ptr<const CaseBatch>& batch);

/// Compiles each cell as a program on the CPU, with the same seeds and rates as cells_on().
Result<std::vector<LanistaProgram>> cells_on_host(std::span<const Cell> cells,
                                                  const std::shared_ptr<const CaseBatch>& batch);

/// One work for each core, which trains its share of the programs in turn. The programs must outlive the works.
std::vector<RepeatedWork> work_per_core(std::vector<LanistaProgram>& programs, std::int64_t cores);

}  // namespace lanista::bench
