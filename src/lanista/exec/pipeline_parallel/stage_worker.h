#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "lanista/base/result.h"
#include "lanista/exec/kernels/kernels.h"
#include "lanista/exec/program/program.h"

namespace lanista::nn {

/// The stages of another process's program, made anew from the same step: a place of its steps (RemoteRanks). It has no
/// states and no memory of its own. One thread.
class StageWorker {
 public:
  /// `options` are those of the program, with its stages. Errors: those of Program::compile.
  static Result<std::unique_ptr<StageWorker>> compile(kernels::Isa isa, const step::TrainingStep& train,
                                                      const step::InferenceStep& infer, const ProgramOptions& options);
  virtual ~StageWorker() = default;

  virtual const StageMemoryMap& map() const = 0;  ///< what RemoteRanks::enter is asked with
  /// Does what stands in the list of that place, step after step, until `should_stop`, which is asked whenever it waits.
  /// `memory` was zeros before the first step; with a line it is this place's alone.
  virtual void serve(std::byte* memory, std::size_t rank, const std::function<bool()>& should_stop,
                     StageTransport* transport = nullptr) = 0;
};

}  // namespace lanista::nn
