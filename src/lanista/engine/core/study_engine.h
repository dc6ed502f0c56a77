#pragma once

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lanista/engine/core/checkpoint_refs.h"
#include "lanista/engine/core/control_requests.h"
#include "lanista/engine/core/engine.h"
#include "lanista/engine/core/ensemble.h"
#include "lanista/engine/core/optimum_reached.h"
#include "lanista/engine/core/package.h"
#include "lanista/engine/core/run_ahead_limit.h"
#include "lanista/engine/core/study_state.h"
#include "lanista/engine/core/study_zoo.h"
#include "lanista/engine/core/top_k.h"
#include "lanista/engine/core/warm_start.h"
#include "lanista/io/zoo/catalogue.h"
#include "lanista/plan/grouping/device_planners.h"
#include "lanista/search/sampler/dominance_pruner.h"

namespace lanista::engine {

/// The engine over one log and one executor. Single-threaded; workers run behind the executor.
///
/// A study is a sequence of *events*, one at a time:
///  - a delivery: the next measurement or failure of the running trial with the earliest end of its next epoch in
///    logical time (then the lowest id). Of a trial that is ending or pausing it is its end or pause. The engine waits
///    for this report; reports of other trials wait in a queue.
///  - an applied request: stop, stop-trial, guard, extension. Its position in logical order is that of its record in
///    the log. The time of the request has no influence.
/// The records that an event causes come right after it in the log, before the next event. They are a verdict, an
/// outcome, a pause, and the strategy's answers for free slots (`fill_slots`). At the end of the study they are the
/// outcomes of all open trials. Two facts follow:
///  - If a log ends anywhere, only its last event can lack records. `complete_last_event` appends them.
///  - Everything without a record follows from the state. A trial with a verdict or a full budget waits for its end or
///    pause. `RunAheadLimit` folds how far others may train. `fill_slots` starts the waiting members of recorded
///    groups; the strategy is a pure function of the events, so asking it again adds nothing.
///
/// A paused trial is in the log, the store and the strategy only; it needs no slot, worker or memory. When it resumes,
/// its logical clock continues at the time of that record. So pauses and kills leave no trace: events, and with them
/// the canonical export, are a function of the configuration, the data, and the requests with their positions.
class StudyEngine final : public Engine {
 public:
  /// `past` holds the events of the log from which `state` was folded; the strategy has observed none of them.
  StudyEngine(std::string folder, Services services, store::LogWriter log, StudyState state,
              std::shared_ptr<const mutate::ModelSpace> models, std::unique_ptr<strategy::Strategy> strategy,
              const std::vector<study::Event>& past = {});

  const StudyView& view() const override { return state_.view; }
  Extension suggested_extension() const override;
  Result<RunResult> run() override;
  /// Applies an extension as the next request.
  void extend(const Extension& extension);

 private:
  /// A running trial.
  struct Active {
    TrialId id;                              ///< The trial.
    std::int64_t budget = 0;                 ///< Epochs until its next pause or end.
    std::int64_t next = 1;                   ///< Epoch to deliver next; of a trial that ends or pauses, its last.
    std::int64_t allowed = 0;                ///< Last epoch that the executor may train.
    bool started = false;                    ///< The executor has its job.
    std::size_t device = 0;                  ///< Index in Services::devices; 0 if there is one.
    std::deque<study::Measurement> reports;  ///< Measurements of epochs next, next + 1, ….
    std::optional<FailureReport> failure;    ///< Failure that waits for its delivery.
    std::optional<study::Outcome> pending_outcome;  ///< Outcome after its end; Finish was sent.
    std::optional<FinishedReport> finished;         ///< End that waits for its delivery.
    bool pausing = false;                           ///< PauseTrial was sent.
    std::optional<TrialPausedReport> paused_state;  ///< Pause that waits for its delivery.
    /// Whether Finish or PauseTrial was sent.
    bool is_ending_or_pausing() const { return pending_outcome || pausing; }
  };
  /// A trial's model with its cost.
  struct BuiltModel {
    graph::Graph model;     ///< The graph.
    graph::ModelCost cost;  ///< Parameters and FLOPs.
    Digest structure;       ///< study::structure_key.
  };

  /// Records the begin of an attempt and restores the state that has no record.
  Result<void> begin_attempt();
  Result<void> restore_checkpoint_refs();
  Result<void> complete_last_event();
  Result<void> complete_last_event(TrialId trial, bool needs_verdict_again);
  bool needs_verdict(TrialId trial);

  // study_requests.cpp: requests of the user, and periodic work.
  /// Reads requests and does periodic work. Returns whether a request was applied; then it runs again before an event.
  Result<bool> poll_requests();
  Result<void> apply_request(const ControlRequest& request);
  Result<void> apply_extension();
  Result<void> end_all_trials(const std::string& reason);
  Result<void> record_worked_seconds();
  Result<RunResult> pause();
  void save_study_timings();

  // study_engine.cpp: the loop.
  Result<RunResult> loop();
  Result<void> accept_report(Report report);
  Result<void> accept_epoch(study::Measurement measurement);
  Result<void> record_checkpoint(const CheckpointReport& report);
  bool is_deliverable(const Active& trial) const;
  Result<void> deliver(Active& trial);
  /// Adds params and flops of the model as metrics if a goal or a constraint names them.
  Result<void> add_costs(study::Measurement& measurement);
  void abandon_all();
  /// Sends changed lane groups and new allowances to the executor.
  Result<void> send_groups();

  // study_trials.cpp: records that events cause.
  Result<void> fill_slots();
  /// Fills one slot. Returns whether another slot may be filled.
  Result<bool> fill_next_slot();
  Result<bool> ask_strategy();
  bool can_carry_out(const strategy::Member& member) const;
  /// `waiting_index` is the index of a new trial among those that wait.
  Result<bool> carry_out_member(strategy::Member member, std::size_t waiting_index = 0);
  bool is_barrier_active() const;
  bool is_trial_budget_spent() const;
  Result<bool> fits_budget(const study::Proposal& proposal, std::int64_t done, std::int64_t budget) const;
  Result<void> propose(study::Proposal proposal, std::size_t waiting_index);
  std::optional<data::SelectionComparison> guard_of(const study::Proposal& proposal) const;
  double logical_epoch_of(const study::Proposal& proposal, const BuiltModel& built) const;
  Result<void> start(Active& trial, const std::string& checkpoint);
  Result<void> start(Active& trial, const std::string& checkpoint, BuiltModel built);
  /// Starts a trial that is ending or pausing in a resumed study, and allows the epochs that it needs.
  Result<void> start_to_finish(Active& trial);
  void allow(Active& trial);
  Result<void> apply_verdict(Active& trial);
  Result<void> finish(Active& trial, study::OutcomeKind kind, const std::string& reason);
  Result<const BuiltModel*> built_base_model(std::int64_t base);
  Result<BuiltModel> build_model(const study::Proposal& proposal);
  const data::DataSpec& data_of(const study::Proposal& proposal) const;  ///< Data of its fold.
  void announce(const study::Event& event);
  Active& enter(TrialId id, std::int64_t next);
  void leave(TrialId id);
  std::size_t top_k_size() const;
  FrozenPart frozen() const;  ///< Of every job.

  // study_device_choice.cpp: several devices.
  /// The device with the least work per speed among those that support the job. `work` is the job's own.
  std::size_t least_loaded_device(const Job& job, double work) const;
  std::optional<std::size_t> assigned_device(TrialId id) const;
  /// The device that a proposal's record stores; empty: the record stores none.
  Result<std::string> device_to_record(const TrialView& trial, double logical_epoch, const graph::Graph& model) const;
  /// Index of the device that trains a job.
  std::size_t device_for(const Job& job) const;

  // study_rule_pruning.cpp: pruning rules, and the order of a group.
  /// Why a rule prunes a trial that would train through epoch `budget`; nullopt: none does.
  std::optional<strategy::DominancePruner::PruningReason> pruning_reason_of(TrialId id, std::int64_t budget) const;
  /// Ends all open trials that a rule prunes, in order of their ids. After a kill the same order continues.
  Result<void> end_pruned_by_rule();
  Result<void> end_pruned_by_rule(TrialId id, const strategy::DominancePruner::PruningReason& by);
  /// Adds the costs of its members to a group that is ordered by cost.
  Result<void> add_group_costs(strategy::TrialGroup& group);
  /// Index of the waiting member to start next; `first` is the first that can start.
  std::size_t next_waiting_index(std::size_t first);

  // study_pauses.cpp: pauses, ends and kept states.
  Result<void> pause(Active& trial);
  Result<void> record_paused(Active& trial);
  Result<void> resume(const strategy::ResumeTrial& member);
  /// The fork with the address of its state; nullopt: the state is not kept. Errors: kInvalidArgument (there was none).
  Result<std::optional<study::Fork>> resolve_fork(TrialId id, study::Fork fork);
  /// Abandons a running trial; its worker sends no report.
  void cancel_running(TrialId trial);
  /// Ends a paused trial: its selected epoch so far gives its result, and its paused state its weights.
  Result<void> end_trial(TrialId trial, const std::string& reason);
  Result<void> finish_paused_trials();
  Result<void> record_outcome_and_prune(TrialId trial, study::Outcome outcome);
  Result<void> record_outcome(TrialId trial, study::Outcome outcome);  ///< Without pruning by rules.
  Result<void> cancel(TrialId trial, const std::string& reason);
  /// Address of the state that a start names; empty: not kept. Errors: kInvalidArgument (no such trial).
  Result<std::string> stored_state_address(const study::Start& start) const;
  void hold_start_states(TrialId id);
  void release_weights(const TrialView& trial);

  // study_starts.cpp: warm starts.
  /// A start, and the weights that the child inherits.
  struct StartOption {
    study::Start start;
    Inheritance inheritance;
  };
  /// Sets the start that train.start selects for a proposal without one, and its race. No start is set if no kept state
  /// fits. Returns the zoo model among them, if any.
  Result<std::optional<study::ZooModel>> choose_start(TrialId id, study::Proposal& proposal, const graph::Graph& model);
  Result<std::optional<study::Start>> nearest_stored_ancestor(const study::Proposal& proposal) const;
  Result<std::optional<study::Start>> most_similar_stored(const graph::Graph& child);
  /// The weights that the child inherits from a start; nullopt: too few.
  Result<std::optional<StartOption>> inheritance_option(TrialId id, study::Start start,
                                                        const graph::Graph& model) const;
  /// Useful starts within the study, the one by lineage first. With `all` also the most similar model.
  Result<std::vector<StartOption>> start_options_in_study(TrialId id, const study::Proposal& proposal,
                                                          const graph::Graph& model, bool all);
  /// Steps of a start race; 0: no race.
  std::int64_t race_steps(const study::Proposal& proposal) const;

  // study_zoo_starts.cpp: the zoo.
  void open_zoo();
  /// A start from the zoo.
  struct ZooStartOption {
    StartOption found;
    study::ZooModel model;
  };
  /// The zoo start that is more useful than `own` (null: any). Its weights are copied to the checkpoints.
  Result<std::optional<ZooStartOption>> zoo_start(TrialId id, const graph::Graph& child, const StartOption* own);
  /// Copies a zoo model to the checkpoints and returns its address; empty: it is damaged or gone (a warning is logged).
  Result<std::string> import_zoo_weights(const std::string& id, const graph::Graph& graph);
  /// Copies the start weights of an open trial again if their file is lost.
  Result<void> repair_zoo_start(TrialId id);
  Result<void> repair_zoo_start(TrialId id, const study::Start* start);
  /// Adds a finished trial with kept weights to the zoo, and reports how useful its own zoo start was.
  void add_to_model_zoo(const TrialView& trial);

  // study_end.cpp: the winner and its package.
  Result<RunResult> end_study();
  /// The package of a trial; nullopt: its weights are not kept. Errors: kDataLoss (they are lost).
  Result<std::optional<ModelPackage>> package_of(const TrialView& trial, const std::map<std::string, double>& test);
  /// A finished trial with its job and weights. Lost weights are trained again. Errors: kDataLoss.
  Result<EnsembleCandidate> ensemble_candidate(const TrialView& trial);
  bool has_test_part() const { return services_.data->split_rows[2] > 0; }
  /// The winner's metrics on the test part.
  Result<std::map<std::string, double>> measure_winner(const TrialView& winner);
  /// The trainings of a proposal (study::fold_models_of), without those with lost weights (a warning is logged).
  Result<EnsembleModel> ensemble_model_of(const TrialView& named);
  /// The ensemble of the kept trials, measured on the test part; nullopt: the winner alone is as good. With folds the
  /// winner is an ensemble of its trainings with equal shares.
  Result<std::optional<study::Ensemble>> choose_ensemble_for(const TrialView& winner);
  /// Writes best/ with these trials, blended by their shares. Errors: kDataLoss (weights are lost).
  Result<void> write_best(const study::Ensemble& ensemble, const std::map<std::string, double>& test);
  /// The kept weights. If their file is lost or damaged, the trial is trained again to equal bits. Errors: kDataLoss.
  Result<store::Checkpoint> load_weights(const TrialView& trial, const Job& job);
  Result<void> retrain(const Job& job, std::int64_t epochs);
  /// Writes a lost or damaged package again.
  Result<void> repair_package();
  void event(Level level, const std::string& name, nlohmann::json fields) const;

  static constexpr double kPollSeconds = 0.25;  ///< Seconds between reads of control/ and between calls of on_idle.

  std::string folder_;
  Services services_;                  // Its file system is files_.
  std::shared_ptr<FileSystem> files_;  // Confined to the study's folder.
  store::LogWriter log_;
  StudyState state_;
  std::shared_ptr<const mutate::ModelSpace> models_;
  std::unique_ptr<strategy::Strategy> strategy_;
  RunAheadLimit run_ahead_limit_;
  strategy::DominancePruner dominance_pruner_;
  OptimumReached optimum_reached_;
  DeviceTable devices_;               // Below two rows there is no choice.
  schedule::DevicePlanners planner_;  // Plans the started trials.
  std::vector<Allow> allowed_;        // Not yet sent to the executor.
  TopK top_k_;
  CheckpointRefs checkpoint_refs_;

  std::map<TrialId, Active> active_;
  std::set<std::pair<double, TrialId>> due_times_;   ///< Logical time of the next event of every active trial.
  std::unordered_map<Digest, TrialId> keys_;         ///< First trial of each duplicate key; only looked up.
  std::map<std::int64_t, BuiltModel> base_models_;   ///< Base models, by index.
  std::map<TrialId, zoo::MatchModel> match_models_;  ///< Trials from which others may start.
  std::optional<StudyZoo> zoo_;
  std::map<std::string, std::string> zoo_addresses_;  ///< Addresses of copied zoo models, by id.
  bool strategy_waits_ = false;                       ///< The strategy returned wait; until the next event.
  std::string exhausted_reason_;                      ///< Why the strategy proposes nothing, or empty.
  std::string pause_requested_by_;                    ///< Source of the pause request, or empty.
  std::optional<Extension> extension_;                ///< Requested and not yet applied.
  bool paused_ = false;
  double attempt_start_seconds_ = 0, last_sync_seconds_ = 0, last_worked_record_seconds_ = 0;  ///< Monotonic clock.
  std::optional<double> last_poll_seconds_;
};

}  // namespace lanista::engine
