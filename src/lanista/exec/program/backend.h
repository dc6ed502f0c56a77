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

namespace lanista::program {

/// The numbers of threads, lanes and executables that suit a device, for settings that the user leaves open. 0 means
/// the number for the CPU.
struct Capability {
  /// Most worker threads that use the device; with prefers_many_lanes also at most the active trials.
  std::int64_t workers = 0;
  /// True: a launch costs more than a lane, so a program gets as many lanes as there are active trials.
  bool prefers_many_lanes = false;
  /// Most executables that share the trials of one lane group at a time; 0: one a free worker.
  std::int64_t max_executables = 0;
};

/// A factory that compiles models into executables for one kind of device. Immutable and thread-safe. Programs keep no
/// reference to it.
class Backend {
 public:
  virtual ~Backend() = default;

  /// The name of the backend, which is part of the key of a lane group.
  ///
  /// Executables of backends with one name accept each other's states and continue with the same bits.
  virtual std::string_view name() const = 0;
  /// The name of the numeric class, as the log stores it ("own-2/fma"). Backends of one class give the same bits.
  virtual std::string_view numeric_class() const = 0;
  /// The numbers of threads, lanes and executables that suit the device.
  virtual Capability capability() const { return {}; }
  /// Returns the warnings for the user that the compiled programs made since the last call, oldest first. Each is a
  /// sentence and is returned once; none: empty.
  virtual std::vector<std::string> drain_warnings() const { return {}; }
  /// Compiles an executable. Without `train` (null) it only predicts. Errors: kInvalidArgument (an option out of range,
  /// or this machine lacks what the backend needs), kResourceExhausted (budget, memory or threads), kUnimplemented (an
  /// operator without a kernel, by name).
  virtual Result<std::unique_ptr<Executable>> compile(const autodiff::TrainingStep* train,
                                                      const autodiff::InferenceStep& infer,
                                                      const ProgramOptions& options) const = 0;
};

/// Returns the backend of the lanista kernels on the CPU at one instruction set level; it lives until the process ends.
/// `compile` returns kInvalidArgument if the CPU lacks the level.
const Backend& cpu_backend(kernels::Isa isa = kernels::best_isa());

}  // namespace lanista::program
