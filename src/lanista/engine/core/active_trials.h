#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "lanista/engine/core/executor.h"
#include "lanista/engine/core/study_state.h"
#include "lanista/search/study/trial.h"

namespace lanista::engine {

/// Reports of one trial that wait for their delivery in logical order.
struct WaitingReports {
  std::deque<study::Measurement> measurements;  ///< Of the next epoch and those after it.
  std::optional<FailureReport> failure;         ///< The trial failed after these measurements.
  std::optional<FinishedReport> finished;       ///< The trial ended, as Finish requested.
  std::optional<TrialPausedReport> paused;      ///< The trial paused, as PauseTrial requested.
};

/// A running trial.
struct ActiveTrial {
  TrialId id;                                     ///< The trial.
  std::int64_t budget = 0;                        ///< Epochs until its next pause or end.
  std::int64_t next = 1;                          ///< Epoch to deliver next; of a trial that ends or pauses, its last.
  std::int64_t allowed = 0;                       ///< Last epoch that the executor may train.
  bool started = false;                           ///< The executor has its job.
  std::size_t device = 0;                         ///< Index in Services::devices; 0 if there is one.
  WaitingReports waiting;                         ///< Reports that are not yet delivered.
  std::optional<study::Outcome> pending_outcome;  ///< Outcome after its end; Finish was sent.
  bool pausing = false;                           ///< PauseTrial was sent.

  /// Whether Finish or PauseTrial was sent.
  bool is_ending_or_pausing() const { return pending_outcome || pausing; }
  /// Whether the report for its next event has arrived.
  bool is_deliverable() const;
};

/// The running trials of a study, in the logical order of their next events. Not thread-safe.
class ActiveTrials {
 public:
  /// Times of events come from `state`.
  explicit ActiveTrials(const StudyState& state) : state_(state) {}

  /// Adds an open trial. Its next event is the measurement of epoch `next`.
  ActiveTrial& enter(TrialId id, std::int64_t next);
  /// Moves the next event of a trial to its next epoch.
  void advance(ActiveTrial& trial);
  /// Removes a trial, which must still be open. A trial that is not active has no effect.
  void leave(TrialId id);

  /// The active trial with this id, or null.
  ActiveTrial* find(TrialId id);
  /// The active trial with this id, or null.
  const ActiveTrial* find(TrialId id) const;
  /// The trial with the earliest next event; of several the one with the lowest id. There must be one.
  ActiveTrial& first_due() { return trials_.at(due_times_.begin()->second); }
  /// All active trials by id.
  const std::map<TrialId, ActiveTrial>& trials() const { return trials_; }
  /// Number of active trials.
  std::int64_t size() const { return std::ssize(trials_); }

 private:
  const StudyState& state_;
  std::map<TrialId, ActiveTrial> trials_;
  std::set<std::pair<double, TrialId>> due_times_;  ///< Logical time of the next event of every trial.
};

}  // namespace lanista::engine
