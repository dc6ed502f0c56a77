#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "lanista/base/result.h"
#include "lanista/exec/kernels/kernels.h"
#include "lanista/exec/program/program.h"

namespace lanista::nn {

/// The stages of another process's program, made anew from the same step: a place of its steps (StagePlaces). It has no
/// states and no memory of its own. One thread.
class StageMember {
 public:
  /// `options` are those of the program, with its stages. Errors: those of Program::compile.
  static Result<std::unique_ptr<StageMember>> compile(kernels::Isa isa, const step::TrainingStep& train,
                                                      const step::InferenceStep& infer, const ProgramOptions& options);
  virtual ~StageMember() = default;

  virtual const StageMap& map() const = 0;  ///< what StagePlaces::enter is asked with
  /// Does what stands in the list of that place, step after step, until `leaves`, which is asked whenever it waits.
  /// `memory` was zeros before the first step; with a line it is this place's alone.
  virtual void serve(std::byte* memory, std::size_t place, const std::function<bool()>& leaves,
                     StageLine* line = nullptr) = 0;
};

}  // namespace lanista::nn
