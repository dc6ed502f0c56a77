#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/exec/kernels/kernels.h"
#include "lanista/exec/program/executable.h"
#include "lanista/exec/program/program.h"

namespace lanista::nn {

/// The loads that suit a device, for settings that the user leaves open. 0 means: as on the CPU.
struct Capability {
  std::int64_t workers = 0;          ///< Most threads that feed it; with prefers_many_lanes at most the active trials.
  bool prefers_many_lanes = false;   ///< Whether a launch costs more than a lane: then lanes = active trials.
  std::int64_t max_executables = 0;  ///< Executables that share the trials of one group at a time; 0: one a free worker
};

/// A factory that compiles models into executables for one kind of device. Immutable and thread-safe. Programs keep no
/// reference to it.
class Backend {
 public:
  virtual ~Backend() = default;

  /// The name of the backend, which is part of a program's key.
  ///
  /// Executables of backends with one name accept each other's states and continue with the same bits.
  virtual std::string_view name() const = 0;
  /// The name of its numeric class, as the log stores it ("own-2/fma"). Backends of one class give the same bits.
  virtual std::string_view numeric_class() const = 0;
  /// The loads that suit its device.
  virtual Capability capability() const { return {}; }
  /// Returns the warnings of its programs since the last call, in sentences. Each warning is returned once.
  virtual std::vector<std::string> drain_warnings() const { return {}; }
  /// Compiles an executable. Without `train` (null) it only predicts. Errors: kInvalidArgument (the backend does not
  /// run here), kResourceExhausted (budget), kUnimplemented (an operator without a kernel, by name).
  virtual Result<std::unique_ptr<Executable>> compile(const step::TrainingStep* train, const step::InferenceStep& infer,
                                                      const ProgramOptions& options) const = 0;
};

/// The backend of the lanista kernels on the CPU, at one level of instructions. `compile` fails if the CPU lacks it.
const Backend& cpu_backend(kernels::Isa isa = kernels::best_isa());

}  // namespace lanista::nn
