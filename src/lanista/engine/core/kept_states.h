#pragma once

#include <string>
#include <vector>

#include "lanista/engine/core/study_context.h"
#include "lanista/engine/core/top_k.h"

namespace lanista::engine {

/// Decides which states of trials stay in the checkpoint store: the last checkpoints of open trials, the weights of the
/// best trials, and the states from which those started. Not thread-safe.
class KeptStates {
 public:
  /// Keeps the states of `keep.top` trials.
  explicit KeptStates(StudyContext& study);

  /// The best trials that have ended, best first.
  const std::vector<study::RankingKey>& best() const { return top_k_.best(); }
  /// Whether the weights of a trial that ends now are kept.
  bool would_keep(const TrialView& trial) const;
  /// Address of the state that a start names; empty: it is not kept. Errors: kInvalidArgument (no such trial).
  Result<std::string> address_of(const study::Start& start) const;

  /// Holds the states from which a trial starts.
  void hold_start_states(TrialId id);
  /// Records a checkpoint of an open trial, and releases the one before. A late checkpoint is released at once.
  Result<void> record_checkpoint(const CheckpointReport& report);
  /// Ranks a trial that has ended, with the weights of its outcome held. Releases the weights that are not needed then.
  void rank_ended(const TrialView& trial);

  /// In a resumed study: holds the states of ended trials and of the study itself.
  void restore_ended();
  /// In a resumed study: holds the last checkpoint of an open trial, or drops a damaged one with a warning.
  void restore_checkpoint(TrialId id);

 private:
  /// Releases the weights of a trial and the states from which it started.
  void release_weights(const TrialView& trial);

  StudyContext& study_;
  TopK top_k_;
};

}  // namespace lanista::engine
