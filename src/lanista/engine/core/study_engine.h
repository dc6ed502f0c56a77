#pragma once

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lanista/engine/core/control_requests.h"
#include "lanista/engine/core/engine.h"
#include "lanista/engine/core/ensemble.h"
#include "lanista/engine/core/run_ahead_limit.h"
#include "lanista/engine/core/package.h"
#include "lanista/engine/core/optimum_reached.h"
#include "lanista/engine/core/top_k.h"
#include "lanista/engine/core/checkpoint_refs.h"
#include "lanista/engine/core/study_state.h"
#include "lanista/engine/core/study_zoo.h"
#include "lanista/engine/core/warm_start.h"
#include "lanista/plan/grouping/device_planners.h"
#include "lanista/search/sampler/dominance_pruner.h"
#include "lanista/io/zoo/catalogue.h"

namespace lanista::engine {

/// The engine over one log and one executor. Single-threaded; workers live behind the executor.
///
/// A study is a sequence of *events*, one at a time:
///  - a delivery: of the running trial whose next epoch ends first in logical time (then by id), its next measurement,
///    its failure, or, once it has been settled, its end or its pause; however long it takes to arrive. Reports of
///    others wait.
///  - a request that is obeyed: stop, stop-trial, guard, extension. Its place in logical order is that of its record in
///    the log: behind so many proposals, measurements and outcomes. When it was asked for does not enter.
/// All that follows from an event stands in the log right behind it, before the next event: a verdict, an outcome, a
/// pause, what the strategy asks for where slots are free (`fill`: proposals, resumptions, ends), the outcomes of all
/// open trials where the study is to end. Hence
///  - of a log that ends anywhere, the last event alone can lack *records*, and `complete_last_event` appends the missing ones;
///  - what follows without a record follows from the state, whatever the last event was: a trial with a verdict or a
///    full budget is settled and waits for its end or pause; how far others may train ahead is folded by `RunAheadLimit`;
///    `fill` takes up the members of recorded groups that wait for a slot, and asks a pure function of the events, so
///    that asking once more adds nothing.
/// A paused trial is in the log, the store and the strategy alone: no slot, no worker, no memory. Resumed, its logical
/// clock goes on from the moment of that record.
/// So pauses and kills leave no trace: events, and with them the canonical export, are a function of the configuration,
/// the data, and the requests with their places.
class StudyEngine final : public Engine {
 public:
  /// `past`: the events of the log that `state` was folded from; the strategy has observed none of them.
  StudyEngine(std::string folder, Services services, store::LogWriter log, StudyState state,
              std::shared_ptr<const mutate::ModelSpace> models, std::unique_ptr<strategy::Strategy> strategy,
              const std::vector<study::Event>& past = {});

  const StudyView& view() const override { return state_.view; }
  Extension suggested_extension() const override;
  Result<RunResult> run() override;
  /// Is obeyed as the next request.
  void extend(const Extension& extension);

 private:
  /// A running trial.
  struct Active {
    TrialId id;
    std::int64_t budget = 0;
    std::int64_t next = 1;     ///< the epoch to be delivered next; of a settled trial, its last
    std::int64_t allowed = 0;  ///< the executor may train it through this epoch
    bool started = false;
    std::size_t device = 0;                  ///< number of Services::devices; where there is one, 0
    std::deque<study::Measurement> reports;  ///< epochs next, next + 1, …
    std::optional<FailureReport> failure;
    std::optional<study::Outcome> pending_outcome;  ///< it is settled: Finish was commanded, this will be its outcome
    std::optional<FinishedReport> finished;
    bool pausing = false;  ///< it is settled: PauseTrial was commanded, it will be paused
    std::optional<TrialPausedReport> paused_state;
    bool is_ending_or_pausing() const { return pending_outcome || pausing; }
  };
  struct BuiltModel {
    graph::Graph model;
    graph::ModelCost cost;
    Digest structure;  ///< study::structure_key
  };

  // study_resume.cpp: coming back
  Result<void> begin_attempt();
  Result<void> restore_checkpoint_refs();
  Result<void> complete_last_event();
  Result<void> complete_last_event(TrialId trial, bool needs_verdict_again);
  bool needs_verdict(TrialId trial);

  // study_requests.cpp: what is asked from outside
  /// Applies waiting requests and does periodic work. Returns whether a request was applied; then it checks again first.
  Result<bool> poll_requests();
  Result<void> apply_request(const ControlRequest& request);
  Result<void> apply_extension();
  Result<void> end_all_trials(const std::string& reason);
  Result<void> record_worked_seconds();
  Result<RunResult> pause();
  void save_study_timings();

  // study_engine.cpp: the loop
  Result<RunResult> loop();
  Result<void> accept_report(Report report);
  Result<void> accept_epoch(study::Measurement measurement);
  Result<void> record_checkpoint(const CheckpointReport& report);
  bool is_deliverable(const Active& trial) const;
  Result<void> deliver(Active& trial);
  /// The model's params and flops as metrics, where a goal or a constraint asks for them.
  Result<void> add_costs(study::Measurement& measurement);
  void abandon_all();
  /// Tells the executor who runs with whom, if that has changed, and how far running trials may go.
  Result<void> send_groups();

  // study_trials.cpp: what follows from events
  Result<void> fill_slots();
  /// Gives whether there is more to take up or to ask for.
  Result<bool> fill_next_slot();
  Result<bool> ask_strategy();
  bool can_carry_out(const strategy::Member& member) const;
  /// `place`: which the new trial is of those that wait.
  Result<bool> carry_out_member(strategy::Member member, std::size_t place = 0);
  bool is_barrier_active() const;
  bool is_trial_budget_spent() const;
  Result<bool> fits_budget(const study::Proposal& proposal, std::int64_t done, std::int64_t budget) const;
  Result<void> propose(study::Proposal proposal, std::size_t place);
  std::optional<data::SelectionComparison> guard_of(const study::Proposal& proposal) const;
  double logical_epoch_of(const study::Proposal& proposal, const BuiltModel& built) const;
  Result<void> start(Active& trial, const std::string& checkpoint);
  Result<void> start(Active& trial, const std::string& checkpoint, BuiltModel built);
  /// Of a trial that is settled and came back: how far it has to train is told as well.
  Result<void> start_to_finish(Active& trial);
  void allow(Active& trial);
  Result<void> apply_verdict(Active& trial);
  Result<void> finish(Active& trial, study::OutcomeKind kind, const std::string& reason);
  Result<const BuiltModel*> built_base_model(std::int64_t base);
  Result<BuiltModel> build_model(const study::Proposal& proposal);
  const data::DataSpec& data_of(const study::Proposal& proposal) const;  ///< that it trains on
  void announce(const study::Event& event);
  Active& enter(TrialId id, std::int64_t next);
  void leave(TrialId id);
  std::size_t top_k_size() const;
  FrozenPart frozen() const;  ///< of every job

  // study_choice.cpp: several devices
  /// For a job that is to train so much, of those that can, by the work of those under way.
  std::size_t least_loaded_device(const Job& job, double work) const;
  std::optional<std::size_t> assigned_device(TrialId id) const;
  /// Of a proposal whose record is to say it; empty: no record is.
  Result<std::string> device_to_record(const TrialView& trial, double logical_epoch, const graph::Graph& model) const;
  /// That a trial is started on.
  std::size_t device_for(const Job& job) const;

  // study_implied.cpp: what results say of other trials, and in which order groups are taken up
  /// Of a trial that is to train through epoch `budget`.
  std::optional<strategy::DominancePruner::PruningReason> pruning_reason_of(TrialId id, std::int64_t budget) const;
  /// Ends whoever is open and implied, the first always first, so that it does not matter how far a killed process
  /// came.
  Result<void> end_pruned_by_rule();
  Result<void> end_pruned_by_rule(TrialId id, const strategy::DominancePruner::PruningReason& by);
  /// Puts the costs of its members into a group that is to be ordered.
  Result<void> add_group_costs(strategy::TrialGroup& group);
  /// Which of the waiting members is taken up, where `first` is the first that can be.
  std::size_t next_waiting_index(std::size_t first);

  // study_pauses.cpp: rests and ends, and what is kept
  Result<void> pause(Active& trial);
  Result<void> record_paused(Active& trial);
  Result<void> resume(const strategy::ResumeTrial& member);
  /// The fork with the address of its state; none: nothing is kept of it. Errors: kInvalidArgument (there was never
  /// any).
  Result<std::optional<study::Fork>> resolve_fork(TrialId id, study::Fork fork);
  /// Whoever trains it need not end it.
  void cancel_running(TrialId trial);
  /// The end of a trial that is not training: what it stands for by then counts, and its parked state as its weights.
  Result<void> end_trial(TrialId trial, const std::string& reason);
  Result<void> finish_paused_trials();
  Result<void> record_outcome_and_prune(TrialId trial, study::Outcome outcome);
  Result<void> record_outcome(TrialId trial, study::Outcome outcome);  ///< without what it says of others
  Result<void> cancel(TrialId trial, const std::string& reason);
  /// Address of the state that a start names, or empty, where none is kept. Errors: kInvalidArgument (no such trial).
  Result<std::string> stored_state_address(const study::Start& start) const;
  void hold_start_states(TrialId id);
  void release_weights(const TrialView& trial);

  // study_starts.cpp
  /// A start, and what the child takes of it.
  struct StartOption {
    study::Start start;
    Inheritance inheritance;
  };
  /// Gives a proposal without a start the one that train.start asks for, or none, where nothing fits that is kept, and
  /// those that race it. The model of the zoo that is among them.
  Result<std::optional<study::ZooModel>> choose_start(TrialId id, study::Proposal& proposal, const graph::Graph& model);
  Result<std::optional<study::Start>> nearest_stored_ancestor(const study::Proposal& proposal) const;
  Result<std::optional<study::Start>> most_similar_stored(const graph::Graph& child);
  /// What the child takes of a start; none: nothing that is worth it.
  Result<std::optional<StartOption>> inheritance_option(TrialId id, study::Start start, const graph::Graph& model) const;
  /// What the study itself has that is worth it, that by lineage first; `all`: what is most alike, beside it.
  Result<std::vector<StartOption>> start_options_in_study(TrialId id, const study::Proposal& proposal, const graph::Graph& model,
                                        bool all);
  /// Steps of a race of starts; 0: there is none.
  std::int64_t race_steps(const study::Proposal& proposal) const;

  // study_zoo_starts.cpp
  void open_zoo();
  struct ZooStartOption {
    StartOption found;
    study::ZooModel model;
  };
  /// What the zoo has that gives more than `own` (null: whatever it gives), its weights put with the checkpoints.
  Result<std::optional<ZooStartOption>> zoo_start(TrialId id, const graph::Graph& child, const StartOption* own);
  /// Address of a zoo's model with the checkpoints; empty: it is damaged or gone, which was told.
  Result<std::string> import_zoo_weights(const std::string& id, const graph::Graph& graph);
  /// Puts the weights that an open trial begins with there again, should they be lost.
  Result<void> repair_zoo_start(TrialId id);
  Result<void> repair_zoo_start(TrialId id, const study::Start* start);
  /// Puts a trial that has ended into the zoo, if its weights are kept, and says how its own start served it.
  void add_to_model_zoo(const TrialView& trial);

  // study_end.cpp
  Result<RunResult> end_study();
  /// The package of a trial whose weights are kept; none: they are not. Errors: kDataLoss (they are lost).
  Result<std::optional<ModelPackage>> package_of(const TrialView& trial, const std::map<std::string, double>& test);
  /// The job of a trial that has ended. Where its weights are lost it is trained again. Errors: kDataLoss.
  Result<EnsembleCandidate> ensemble_candidate(const TrialView& trial);
  bool has_test_part() const { return services_.data->split_rows[2] > 0; }
  /// The winner's metrics on the test part.
  Result<std::map<std::string, double>> measure_winner(const TrialView& winner);
  /// The trainings that stand for a trial (study::fold_models_of), without those whose weights are lost, which is told.
  Result<EnsembleModel> ensemble_model_of(const TrialView& named);
  /// What keep.ensemble makes of the kept trials, measured on the test part; none: the winner alone is as good. With
  /// folds the winner is all its trainings, each with the same share.
  Result<std::optional<study::Ensemble>> choose_ensemble_for(const TrialView& winner);
  /// Writes best/: these trials, blended by their draws. The one place that does. Errors: kDataLoss (weights are lost).
  Result<void> write_best(const study::Ensemble& ensemble, const std::map<std::string, double>& test);
  /// Where the file is lost or damaged the trial is trained again, to the same bits. Errors: kDataLoss.
  Result<store::Checkpoint> load_weights(const TrialView& trial, const Job& job);
  Result<void> retrain(const Job& job, std::int64_t epochs);
  /// A package that is lost or damaged is written anew.
  Result<void> repair_package();
  void event(Level level, const std::string& name, nlohmann::json fields) const;

  static constexpr double kPollSeconds = 0.25;  ///< between looks at control/ and between signs of life

  std::string folder_;
  Services services_;  // its file system is files_
  std::shared_ptr<FileSystem> files_;  // confined to the study's folder
  store::LogWriter log_;
  StudyState state_;
  std::shared_ptr<const mutate::ModelSpace> models_;
  std::unique_ptr<strategy::Strategy> strategy_;
  RunAheadLimit run_ahead_limit_;
  strategy::DominancePruner dominance_pruner_;
  OptimumReached optimum_reached_;
  DeviceTable devices_;         // fewer than two: there is nothing to choose
  schedule::DevicePlanners planner_;  // of started trials
  std::vector<Allow> allowed_;  // that the executor does not know yet
  TopK top_k_;
  CheckpointRefs checkpoint_refs_;

  std::map<TrialId, Active> active_;
  std::set<std::pair<double, TrialId>> due_times_;  ///< of every active trial, when its next event is due
  std::unordered_map<Digest, TrialId> keys_;  ///< first trial of each duplicate key; never walked
  std::map<std::int64_t, BuiltModel> base_models_;      ///< base models that were used unchanged
  std::map<TrialId, zoo::MatchModel> match_models_;  ///< of trials that others may start from
  std::optional<StudyZoo> zoo_;
  std::map<std::string, std::string> zoo_addresses_;  ///< addresses of the zoo's models, by id
  bool strategy_waits_ = false;                 ///< by the strategy, until the next event
  std::string exhausted_reason_;                  ///< why the strategy proposes nothing, or empty
  std::string pause_requested_by_;                   ///< by whom, or empty
  std::optional<Extension> extension_;        ///< asked for and not yet obeyed
  bool paused_ = false;
  double attempt_start_seconds_ = 0, last_sync_seconds_ = 0, last_worked_record_seconds_ = 0;  ///< on the clock of durations
  std::optional<double> last_poll_seconds_;
};

}  // namespace lanista::engine
