#pragma once

#include <string>
#include <vector>

#include "lanista/engine/core/study_context.h"
#include "lanista/engine/core/top_k.h"

namespace lanista::engine {

/// Decides which states of trials stay in the checkpoint store. They are the last checkpoint of each open trial, the
/// weights of the best trials, and the states from which those started. It holds references in
/// StudyContext::checkpoints. Not thread-safe.
class KeptStates {
 public:
  /// Keeps the weights of the best `keep.top` trials, at least one.
  explicit KeptStates(StudyContext& study);

  /// Ranking keys of the best trials that have ended, best first; at most `keep.top`, or 1 if that is less. With
  /// several trainings for each proposal there is one key for each proposal.
  const std::vector<study::RankingKey>& best() const { return top_k_.best(); }
  /// True if the weights of this trial would be kept if it ended now: it would rank among the best `keep.top` trials.
  /// With several trainings for each proposal it is always true, because their rank is known only when all are done.
  bool would_keep(const TrialView& trial) const;
  /// Address of the state that a start names: a paused state or kept weights. Empty: the state is not kept, or the
  /// parent has trained more epochs since. Errors: kInvalidArgument (no such trial, or a study with folds).
  Result<std::string> address_of(const study::Start& start) const;

  /// Adds a reference to each state from which a trial starts, so that these files stay.
  void hold_start_states(TrialId id);
  /// Logs a checkpoint of an open trial, syncs the log, and removes the checkpoint before it. A checkpoint of a trial
  /// that has ended or paused, or with more epochs than its budget, is only released. Errors: those of the log and of
  /// the file system.
  Result<void> record_checkpoint(const CheckpointReport& report);
  /// Ranks a trial that has ended; a reference to the weights of its outcome must be held. Releases the weights of
  /// trials that are no longer among the best.
  void rank_ended(const TrialView& trial);

  /// In a resumed study: holds the frozen weights, the start file, and the states of ended trials that stay.
  void restore_ended();
  /// In a resumed study: holds the last checkpoint of an open trial. If the file is lost or damaged, a warning is
  /// logged, and the trial has no checkpoint.
  void restore_checkpoint(TrialId id);

 private:
  /// Releases the weights of a trial and the states from which it started.
  void release_weights(const TrialView& trial);

  StudyContext& study_;
  TopK top_k_;
};

}  // namespace lanista::engine
