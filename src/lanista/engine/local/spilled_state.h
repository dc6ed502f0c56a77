#pragma once

#include <string>
#include <utility>

#include "lanista/base/id.h"
#include "lanista/base/result.h"
#include "lanista/io/store/checkpoints.h"
#include "lanista/exec/train/trial_run.h"

namespace lanista::runtime {

/// The state of a trial whose memory others need: a file of the checkpoint store, which goes with this value. No
/// checkpoint that the engine knows has the same address, nor has another parked state. Movable.
class SpilledState {
 public:
  /// Writes the state of a run. Errors: those of the store.
  static Result<SpilledState> put(store::CheckpointStore& files, TrialId trial, train::TrainerState state);
  SpilledState(SpilledState&& other) noexcept : files_(other.files_), address_(std::exchange(other.address_, {})) {}
  SpilledState& operator=(SpilledState&& other) noexcept;
  ~SpilledState();

  /// The state as it was. Errors: those of the store.
  Result<train::TrainerState> get() const;

 private:
  SpilledState(store::CheckpointStore& files, std::string address) : files_(&files), address_(std::move(address)) {}

  store::CheckpointStore* files_;
  std::string address_;  // empty: moved away
};

}  // namespace lanista::runtime
