#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "lanista/base/result.h"
#include "lanista/exec/kernels/kernels.h"
#include "lanista/exec/program/program.h"

namespace lanista::program {

/// The stages of another process's program, compiled again from the same step, to serve one rank of its steps
/// (RemoteRanks). It has no states and no memory of its own. One thread.
class StageWorker {
 public:
  /// Compiles the stages. `options` are those of the program, with its stages. Errors: kInvalidArgument,
  /// kResourceExhausted, kUnimplemented, as Program::compile.
  static Result<std::unique_ptr<StageWorker>> compile(kernels::Isa isa, const autodiff::TrainingStep& train,
                                                      const autodiff::InferenceStep& infer,
                                                      const ProgramOptions& options);
  virtual ~StageWorker() = default;

  /// The map that RemoteRanks::begin_step receives, valid as long as this.
  virtual const StageMemoryMap& map() const = 0;
  /// Runs the passes of rank `rank`, step after step, until `should_stop` returns true. `should_stop` is called
  /// regularly while waiting.
  ///
  /// `memory` has map().bytes bytes and was zeros before the first step. With a transport, it belongs to this rank
  /// alone; without, all ranks share it.
  virtual void serve(std::byte* memory, std::size_t rank, const std::function<bool()>& should_stop,
                     StageTransport* transport = nullptr) = 0;
};

}  // namespace lanista::program
