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

/// What pays on a device, where nobody says otherwise; 0: as on the CPU.
struct Capability {
  std::int64_t workers = 0;   ///< threads that feed it; with many lanes no more than there are trials under way
  bool prefers_many_lanes = false;    ///< a launch costs more than a lane: as many as there are trials under way
  std::int64_t max_executables = 0;  ///< that trials of one group are shared out among at a time; 0: every free worker
};

/// A way to run training steps: a device with its kernels. Immutable and thread-safe; programs refer to none.
class Backend {
 public:
  virtual ~Backend() = default;

  /// BatchPart of a program's key: machines of one name take each other's states with the same bits to follow.
  virtual std::string_view name() const = 0;
  /// Of its numbers, as the log tells it ("own-2/fma"): backends of one class give the same bits.
  virtual std::string_view numeric_class() const = 0;
  virtual Capability capability() const { return {}; }
  /// What its programs have found that a study should know, in sentences; each is told once.
  virtual std::vector<std::string> drain_warnings() const { return {}; }
  /// `train` may be null: then the machine only predicts. Errors: kInvalidArgument (the backend does not run here),
  /// kResourceExhausted (budget), kUnimplemented (an operator without a kernel, by name).
  virtual Result<std::unique_ptr<Executable>> compile(const step::TrainingStep* train, const step::InferenceStep& infer,
                                                   const ProgramOptions& options) const = 0;
};

/// Own kernels on the CPU, at one level of instructions; the CPU may lack it.
const Backend& cpu_backend(kernels::Isa isa = kernels::best_isa());

}  // namespace lanista::nn
