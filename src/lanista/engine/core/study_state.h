#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "lanista/engine/core/engine.h"
#include "lanista/engine/core/record_bodies.h"
#include "lanista/engine/remote/worker_history_builder.h"
#include "lanista/search/sampler/dominance_pruner.h"

namespace lanista::engine {

/// What the engine stores for a trial without an outcome, in addition to its view.
struct OpenTrial {
  double logical_epoch = 1;               ///< Logical duration of one epoch, in FLOPs.
  double began = 0;                       ///< Logical time of the end of its start race, or of its last resumption.
  std::int64_t began_after_epoch = 0;     ///< Number of complete epochs at that time.
  std::string checkpoint;                 ///< Address of the last recorded checkpoint, or empty.
  std::optional<study::Verdict> verdict;  ///< Verdict that is recorded and not yet applied; absent: none.
  bool cancel_asked = false;              ///< True: a request to stop this trial is recorded.
  double priority = 0;                    ///< Priority of its trial group.
  std::string paused_state;  ///< Address of its state while it is paused; empty: it runs, or no state is kept.
  std::optional<Digest> paused_state_hash;  ///< Hash of that state; absent: there is none.
};

/// The state of a study, folded from its log records. A running engine folds the same events while it writes them, so a
/// resumed engine has the same state as one that never stopped. Not thread-safe.
class StudyState {
 public:
  /// Kind of the last record that has a logical time. kOther: a pause, a resumption, an outcome, or no such record yet.
  enum class LastRecord { kOther, kProposed, kMeasured };
  /// A member of a recorded trial group that waits for a slot.
  struct WaitingMember {
    search::Member member;  ///< A new trial, a resumption or a stop.
    /// True: the strategy is asked again only when every member of its group has ended or paused.
    bool barrier = false;
    double priority = 0;     ///< Priority of its group; higher values train first.
    std::int64_t group = 0;  ///< Number of its group in the order of group records, from 1.
    /// Logical time of its epochs, by which the group is ordered; absent: the group keeps its order.
    std::optional<double> cost = {};
    /// Cache of PruningByRules::next_waiting_index, filled at its first use; the log does not store it.
    std::optional<search::DominancePruner::LinePositions> line_positions = {};
  };

  /// The part of the state that readers of a study see.
  StudyView view;
  /// All trials without an outcome, running or paused, by id.
  std::map<TrialId, OpenTrial> open;
  /// Kind of the last proposal, measurement, pause, resumption or outcome. Other records do not change it.
  LastRecord last_record = LastRecord::kOther;
  TrialId last_trial;  ///< Trial of the last proposal or measurement.
  double now = 0;      ///< Logical time of the last proposal, measurement, pause, resumption or outcome.
  /// Number of consecutive trials that ended as duplicates. A measurement, pause, resumption, extension, other outcome
  /// or other new trial sets it to 0.
  std::int64_t duplicates_in_a_row = 0;
  /// Number of trials that a rule pruned since the last measurement, pause, extension or other outcome.
  std::int64_t rule_pruned_in_a_row = 0;
  std::optional<std::int64_t> trials;  ///< Limit of proposed trials, extensions included; absent: none.
  std::optional<std::int64_t> steps;   ///< Limit of training steps, extensions included; absent: none.
  std::optional<double> minutes;       ///< Limit of minutes of work, extensions included; absent: none.
  std::string pending_end_reason;      ///< Reason of a recorded request or guard that ends the study; empty: none.
  std::string finish_paused_reason;    ///< Why paused trials end with the study; empty: they do not.
  std::deque<WaitingMember> waiting_members;  ///< Members of recorded groups, in order.
  /// Running trials of groups with a barrier; the strategy is not asked while there are any.
  std::set<TrialId> open_behind_barrier;
  std::int64_t schema = store::kPlainSchema;  ///< Number of the log schema.
  plan::Grouping plan;                        ///< Current lane groups of this attempt.
  bool has_attempts = false;                  ///< True: an attempt has begun.
  std::int64_t timed_steps = 0;               ///< Number of spans with a timed pipeline step.
  /// Number of values that an old build wrote as null, because JSON has no form for them.
  std::int64_t lost_null_metrics = 0;

  /// Folds one log record. `on_event` receives the study event of the record, if it has one. Errors: kDataLoss (the
  /// record is malformed or contradicts the state).
  Result<void> apply(const store::Record& record, const std::function<void(const study::Event&)>& on_event);

  // Each function below applies one event. apply() calls them for records; a running engine calls them directly.

  /// Adds a new trial and removes it from the members that wait, if it is there. Its id must be the next number.
  /// `waiting_index` is its index, from 0, among the new trials that wait. From its group it gets priority and barrier.
  void propose(TrialView trial, double logical_epoch, std::size_t waiting_index = 0);
  /// Adds the next measurement of a running trial, counts its steps (those of discarded branches included), and
  /// advances the logical clock.
  void measure(const study::Measurement& measurement);
  /// Stores a verdict on a running trial that is recorded and not yet applied.
  void verdict(TrialId trial, study::Verdict verdict);
  /// Adds the members of a recorded trial group to the members that wait.
  void begin_group(const search::TrialGroup& group);
  /// Marks a running trial as paused. The stored state becomes its checkpoint, and its verdict counts as applied.
  void pause(const PausedRecord& paused);
  /// Marks a paused trial as running, with its new budget, and removes its resumption from the members that wait. After
  /// a fork it also gets its new hyper-parameters and the state of the other trial.
  void resume(const ResumedRecord& resumed);
  /// Gives an open trial its outcome. Members of groups that would resume or stop it are dropped.
  void end(TrialId trial, const study::Outcome& outcome, double logical_time);
  /// Stores the end of the study: its reason, its winner, the winner's test metrics and the ensemble.
  void end_study(const std::string& reason, std::optional<TrialId> winner, std::map<std::string, double> test,
                 std::optional<study::Ensemble> ensemble = {});
  /// Sets each limit that the extension names to the current count plus the extension, even if it was higher. Cancels
  /// a pending end, and removes the recorded end with its winner, test metrics and ensemble.
  void extend(const Engine::Extension& extension);
  /// Adds the start or the loss of a worker process.
  void add_worker_report(const WorkerReport& report);
  /// Adds a span, and the host of its worker.
  void add_span(study::Span span);
  /// Begins an attempt of the study at `unix_time` (seconds). No worker is present and no lane group is known then.
  void begin_attempt(double unix_time);
  /// Seconds of work in all attempts before this one.
  double seconds_of_earlier_attempts() const { return seconds_before_; }
  /// Sets the seconds of work since the begin of this attempt.
  void set_worked_seconds(double seconds);
  /// The view of a trial, which must exist.
  TrialView& trial(TrialId id) { return view.trials[id.value - 1]; }
  /// The view of a trial, which must exist.
  const TrialView& trial(TrialId id) const { return view.trials[id.value - 1]; }
  /// True if the trial is open and paused.
  bool paused(TrialId id) const { return open.contains(id) && trial(id).paused; }
  /// Number of paused trials.
  std::int64_t paused_trials() const { return paused_; }
  /// The parent's proposal, if the record of the next trial, `child`, may leave out the steps and edits that both have.
  /// Null: it may not, or it has no parent. The total is limited, so that a small log cannot expand to an unbounded
  /// size.
  const study::Proposal* parent_to_share(const study::Proposal& child) const;
  /// Logical time at which this epoch of an open trial ends.
  double due(TrialId id, std::int64_t epoch) const;

 private:
  /// Sets configuration, data and limits from the header record.
  Result<void> apply_header(const nlohmann::json& body);
  /// Applies a control record.
  void apply_control(const ControlRecord& control);
  /// Checks that a trial has no outcome. Errors: kDataLoss.
  Result<TrialId> open_trial(TrialId id) const;
  /// Checks that a trial has no outcome and is not paused. Errors: kDataLoss.
  Result<TrialId> running_trial(TrialId id) const;
  /// Removes and returns the first waiting member that matches.
  std::optional<WaitingMember> take_waiting(const std::function<bool(const search::Member&)>& matches);
  static constexpr std::size_t kMaxSharedEdits = std::size_t{1} << 22;
  std::int64_t groups_ = 0;
  std::size_t shared_edits_ = 0;  ///< Steps and edits of all parents so far, counted for each child.
  double seconds_before_ = 0;
  std::int64_t paused_ = 0;
  WorkerHistoryBuilder worker_history_builder_;
};

/// Folds a log, or the part of it after its first `before` records, into `state`. `on_event` receives each study event
/// in order. Errors: kDataLoss (a record that is malformed or contradicts the state, or no header); `where` has the
/// number of the record, from 1.
Result<void> replay_records(StudyState& state, const std::vector<store::Record>& records,
                            const std::function<void(const study::Event&)>& on_event, std::size_t before = 0);

}  // namespace lanista::engine
