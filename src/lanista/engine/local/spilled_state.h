#pragma once

#include <string>
#include <utility>

#include "lanista/base/id.h"
#include "lanista/base/result.h"
#include "lanista/exec/train/trial_run.h"
#include "lanista/io/store/checkpoints.h"

namespace lanista::runtime {

/// The state of an idle trial that was moved to a file of the checkpoint store to free memory. The destructor removes
/// the file. Its address differs from those of checkpoints and of other spilled states. Movable, not thread-safe.
class SpilledState {
 public:
  /// Writes the state of a trial. `files` outlives the result. Errors: those of CheckpointStore::put (kInvalidArgument,
  /// kIo, kResourceExhausted).
  static Result<SpilledState> put(store::CheckpointStore& files, TrialId trial, train::TrainerState state);
  SpilledState(SpilledState&& other) noexcept : files_(other.files_), address_(std::exchange(other.address_, {})) {}
  SpilledState& operator=(SpilledState&& other) noexcept;
  ~SpilledState();

  /// Reads the state; the file stays. Errors: those of CheckpointStore::get (kInvalidArgument, kNotFound, kIo,
  /// kDataLoss).
  Result<train::TrainerState> get() const;

 private:
  SpilledState(store::CheckpointStore& files, std::string address) : files_(&files), address_(std::move(address)) {}

  store::CheckpointStore* files_;
  std::string address_;  // Empty: moved away.
};

}  // namespace lanista::runtime
