#pragma once

#include <cstdint>

#include "lanista/engine/core/ensemble.h"
#include "lanista/engine/core/kept_states.h"
#include "lanista/engine/core/study_context.h"
#include "lanista/io/store/checkpoints.h"

namespace lanista::engine {

/// Loads the kept weights of finished trials. If their file is lost or damaged, the trial is trained again to equal
/// bits. No other trial runs meanwhile. Not thread-safe.
class TrainedWeights {
 public:
  /// Checkpoints of a trial that is trained again go to `kept`.
  TrainedWeights(StudyContext& study, KeptStates& kept) : study_(study), kept_(kept) {}

  /// A finished trial with its job and weights, which are stored then. Errors: kDataLoss (the weights are lost),
  /// kUnavailable (interrupted).
  Result<EnsembleCandidate> candidate(const TrialView& trial);
  /// The weights of a finished trial with this job. Errors: kDataLoss (they are lost), kUnavailable (interrupted).
  Result<store::Checkpoint> load(const TrialView& trial, const Job& job);

 private:
  /// Trains a job through `epochs` epochs and keeps its weights.
  Result<void> retrain(const Job& job, std::int64_t epochs);

  StudyContext& study_;
  KeptStates& kept_;
};

}  // namespace lanista::engine
