#pragma once

#include <cstdint>

#include "lanista/engine/core/ensemble.h"
#include "lanista/engine/core/kept_states.h"
#include "lanista/engine/core/study_context.h"
#include "lanista/io/store/checkpoints.h"

namespace lanista::engine {

/// Loads the kept weights of finished trials. If a file is lost or damaged, its trial is trained again to equal bits.
/// No other trial runs meanwhile, so the call may need as long as the trial. Not thread-safe.
class TrainedWeights {
 public:
  /// Checkpoints of a trial that is trained again go to `kept`. Both arguments outlive this.
  TrainedWeights(StudyContext& study, KeptStates& kept) : study_(study), kept_(kept) {}

  /// A finished trial with its job and the address of its weights; the file is readable then. The result points to
  /// `trial`. With empty Job::device it names the first device that supports the job. Errors: kDataLoss (the
  /// weights are lost and cannot be made again), kUnavailable (a pause interrupted the training), those of make_job
  /// (kInvalidArgument, kDataLoss) and of the executor.
  Result<EnsembleCandidate> candidate(const TrialView& trial);
  /// The stored state of a finished trial with this job. Errors: kDataLoss (it is lost and cannot be made again),
  /// kUnavailable (a pause interrupted the training), those of the executor.
  Result<store::Checkpoint> load(const TrialView& trial, const Job& job);

 private:
  /// Trains a job through `epochs` epochs and keeps its weights.
  Result<void> retrain(const Job& job, std::int64_t epochs);

  StudyContext& study_;
  KeptStates& kept_;
};

}  // namespace lanista::engine
