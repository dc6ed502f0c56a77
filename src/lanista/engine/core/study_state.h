#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "lanista/io/data/selection_comparison.h"
#include "lanista/engine/core/engine.h"
#include "lanista/engine/core/record_bodies.h"
#include "lanista/engine/remote/worker_history_builder.h"
#include "lanista/search/sampler/dominance_pruner.h"

namespace lanista::engine {

/// A trial that has no outcome yet, beyond what its view tells.
struct OpenTrial {
  double logical_epoch = 1;
  double began = 0;                       ///< logical time at which it began or was last resumed, …
  std::int64_t began_after_epoch = 0;          ///< … behind so many epochs
  std::string checkpoint;                 ///< the last one recorded, or empty
  std::optional<study::Verdict> verdict;  ///< recorded, and not yet carried out
  bool cancel_asked = false;              ///< a request to end it is recorded
  double priority = 0;                    ///< of its group
  std::optional<data::SelectionComparison> guard;  ///< of its checks, each of which takes Proposal::select_time
  std::string paused_state;                     ///< while it is paused: its state as weights, or empty
  std::optional<Digest> paused_state_hash;      ///< of those
};

/// Everything that the engine and a reader must know of a study, folded from its records. A running engine folds the
/// same events while it writes them, so that going on and coming back are one thing.
class StudyState {
 public:
  /// What the last record in logical order was.
  enum class LastRecord { kOther, kProposed, kMeasured };
  /// A member of a group that waits for a slot.
  struct WaitingMember {
    strategy::Member member;
    bool barrier = false;
    double priority = 0;
    std::int64_t group = 0;           ///< number of its group, of those that were recorded
    std::optional<double> cost = {};  ///< that the group is ordered by; absent: it is taken up as given
    std::optional<strategy::DominancePruner::LinePositions> places = {};  ///< the engine's, which looks them up once
  };

  StudyView view;
  std::map<TrialId, OpenTrial> open;
  LastRecord last_record = LastRecord::kOther;
  TrialId last_trial;
  double now = 0;                        ///< logical time of the last record
  std::int64_t duplicates_in_a_row = 0;  ///< proposed since the last event that was none
  std::int64_t rule_pruned_in_a_row = 0;     ///< trials ended so since the last other event but a proposal
  std::optional<std::int64_t> trials;    ///< budget, extensions included
  std::optional<std::int64_t> steps;     ///< budget, extensions included
  std::optional<double> minutes;         ///< guard, extensions included
  std::string pending_end_reason;                    ///< a recorded request or guard that ends the study; empty: none
  std::string finish_paused_reason;                ///< why paused trials are being ended with the study; empty: they are not
  std::deque<WaitingMember> waiting_members;           ///< members of groups that nobody has taken up yet
  std::set<TrialId> open_behind_barrier;      ///< trials of the last group with a barrier that have neither ended nor paused
  std::int64_t schema = store::kPlainSchema;  ///< of the log
  schedule::Grouping plan;               ///< who shares steps with whom, in this attempt
  std::int64_t timed_steps = 0;          ///< of pipelines, that spans have told of
  std::int64_t lost_null_metrics = 0;         ///< nulls where an old build wrote what JSON cannot hold

  /// Folds a record from a log. Errors: kDataLoss (contradiction), kFailedPrecondition (newer schema).
  Result<void> apply(const store::Record& record, const std::function<void(const study::Event&)>& on_event);

  // The same, for those who have the values at hand.
  /// `place`: which it is of the new trials that wait.
  void propose(TrialView trial, double logical_epoch, std::size_t place = 0);
  void measure(const study::Measurement& measurement);
  void verdict(TrialId trial, study::Verdict verdict);
  void begin_group(const strategy::TrialGroup& group);
  void pause(const PausedRecord& paused);
  void resume(const ResumedRecord& resumed);
  void end(TrialId trial, const study::Outcome& outcome, double logical_time);
  void end_study(const std::string& reason, std::optional<TrialId> winner, std::map<std::string, double> test,
                 std::optional<study::Ensemble> ensemble = {});
  void extend(const Engine::Extension& extension);
  void add_worker_report(const WorkerReport& report);
  void add_span(study::Span span);
  void begin_attempt(double unix_time);
  double seconds_of_earlier_attempts() const { return seconds_before_; }  ///< worked in earlier attempts
  void set_worked_seconds(double seconds);                               ///< in this attempt, all in all
  TrialView& trial(TrialId id) { return view.trials[id.value - 1]; }
  const TrialView& trial(TrialId id) const { return view.trials[id.value - 1]; }
  bool paused(TrialId id) const { return open.contains(id) && trial(id).paused; }
  std::int64_t paused_trials() const { return paused_; }
  /// The parent of whose steps and edits the log need not tell again, of the trial that is proposed next; or null. So
  /// much is put in where a log is read that a small file could ask for all memory: it has an end.
  const study::Proposal* parent_to_share(const study::Proposal& child) const;
  /// Logical time at which the trial's epoch ends.
  double due(TrialId id, std::int64_t epoch) const;

 private:
  Result<void> apply_header(const nlohmann::json& body);
  void apply_control(const ControlRecord& control);
  Result<TrialId> open_trial(TrialId id) const;
  Result<TrialId> running_trial(TrialId id) const;
  /// A waiting member was taken up, or will never be. Gives what was known of it.
  std::optional<WaitingMember> take_waiting(const std::function<bool(const strategy::Member&)>& matches);
  static constexpr std::size_t kMaxSharedEdits = std::size_t{1} << 22;
  std::int64_t groups_ = 0;
  std::size_t shared_edits_ = 0;  ///< steps and edits of all parents so far, once for each child
  double seconds_before_ = 0;
  std::int64_t paused_ = 0;
  WorkerHistoryBuilder worker_history_builder_;
};

/// Folds a whole log, or what follows behind its first `before` records. Errors: StudyState::apply's, with the record's
/// number.
Result<void> replay_records(StudyState& state, const std::vector<store::Record>& records,
                      const std::function<void(const study::Event&)>& on_event, std::size_t before = 0);

}  // namespace lanista::engine
