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

/// Reports of one trial that have arrived and are not yet delivered in logical order.
struct WaitingReports {
  /// Measurements of the next epoch to deliver and of those after it, in order.
  std::deque<study::Measurement> measurements;
  std::optional<FailureReport> failure;  ///< The trial failed after these measurements; absent: no failure has arrived.
  std::optional<FinishedReport> finished;   ///< Answer to Finish; absent: it has not arrived.
  std::optional<TrialPausedReport> paused;  ///< Answer to PauseTrial; absent: it has not arrived.
};

/// A running trial: what the engine has requested from the executor, and the reports that wait.
struct ActiveTrial {
  TrialId id;                ///< The trial.
  std::int64_t budget = 0;   ///< Last epoch before its next pause or its end.
  std::int64_t next = 1;     ///< Epoch to deliver next, from 1; of a trial that ends or pauses, its last.
  std::int64_t allowed = 0;  ///< Last epoch that the executor may train; 0: none.
  bool started = false;      ///< True: the executor has its job.
  std::size_t device = 0;    ///< Index in Services::devices; 0 if there is one.
  WaitingReports waiting;    ///< Reports that are not yet delivered.
  std::optional<study::Outcome> pending_outcome;  ///< Outcome to record after its end, if Finish was sent; else absent.
  bool pausing = false;                           ///< True: PauseTrial was sent.

  /// True if Finish or PauseTrial was sent.
  bool is_ending_or_pausing() const { return pending_outcome || pausing; }
  /// True if the report for its next event has arrived: a measurement, its failure, its end or its pause.
  bool is_deliverable() const;
};

/// The running trials of a study, in the logical order of their next events. Not thread-safe.
class ActiveTrials {
 public:
  /// An empty set. Logical times of events come from `state`, which outlives this.
  explicit ActiveTrials(const StudyState& state) : state_(state) {}

  /// Adds a trial that is open in the state. Its next event is the measurement of epoch `next`. The reference is valid
  /// until leave().
  ActiveTrial& enter(TrialId id, std::int64_t next);
  /// Moves the next event of a trial from epoch `next` to the epoch after it.
  void advance(ActiveTrial& trial);
  /// Removes a trial, which must still be open in the state. Of a trial that is not active it has no effect.
  void leave(TrialId id);

  /// The active trial with this id, or null. The pointer is valid until leave().
  ActiveTrial* find(TrialId id);
  /// The active trial with this id, or null. The pointer is valid until leave().
  const ActiveTrial* find(TrialId id) const;
  /// The trial with the earliest next event in logical time; of several, the one with the lowest id. At least one trial
  /// must be active.
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
