#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "lanista/base/blend.h"
#include "lanista/base/digest.h"
#include "lanista/base/id.h"
#include "lanista/base/result.h"
#include "lanista/io/data/dataset.h"
#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/op.h"
#include "lanista/model/space/domain.h"
#include "lanista/model/transfer/transfer.h"
#include "lanista/plan/grouping/plan.h"
#include "lanista/search/study/config.h"
#include "lanista/search/study/epoch_selection.h"
#include "lanista/search/study/study_view.h"
#include "lanista/search/study/trial.h"

namespace lanista::engine {

/// Nodes of a trial's model that are not trained, and the stored weights of them.
struct FrozenPart {
  std::set<graph::NodeId> nodes;  ///< Ids in the trial's model; empty: every node is trained.
  std::string weights;            ///< Address of the weights in the checkpoint store.
  /// Passes over the data that all trials of the study make together, as far as known; they decide whether caching
  /// pays.
  std::int64_t epochs = 0;
};

/// The last fork of a trial: it continues from the state of another trial. If the job's checkpoint belongs to the other
/// trial, the run starts from it with the measurements listed here. Otherwise the checkpoint is its own.
struct ForkedRun {
  TrialId from;                                  ///< The trial that supplied the state.
  std::vector<study::Measurement> measurements;  ///< The forked trial's own, through the epoch of the fork.
};

/// The start candidates that race against a job's start (study::StartRace). Random values always race and are not
/// listed.
struct StartRaceSetup {
  std::int64_t steps = 0;  ///< Steps of each candidate; 0: no race.
  /// One start candidate.
  struct Alternative {
    study::Start start;                              ///< The weights that it starts from.
    std::optional<zoo::TransferPlan> transfer = {};  ///< As Job::transfer.
    double ease = 1;                                 ///< As Recipe::ease, if the trial continues from it.
    std::optional<graph::Graph> parent = {};         ///< As Job::parent.
  };
  std::vector<Alternative> alternatives = {};  ///< The candidates in order.
};

/// Everything that determines the numbers of a trial, and the checkpoint to resume from.
struct Job {
  TrialId trial;                          ///< The trial that this job trains.
  graph::Graph model;                     ///< Its model.
  study::Recipe recipe;                   ///< All settings of its training.
  std::uint64_t trial_seed = 0;           ///< Seed of initial values and dropout masks.
  std::uint64_t data_seed = 0;            ///< Seed of the order of samples; one for the study.
  std::optional<std::int64_t> fold = {};  ///< Fold that gives its rows; absent: the one split of the study.
  double logical_start = 0;               ///< Logical time of its first epoch; workers prefer the earliest next epoch.
  double logical_epoch = 1;               ///< Logical duration of one whole epoch.
  double priority = 0;                    ///< Priority of its trial group; workers prefer higher ones.
  bool alone = false;                     ///< It shares no step, because it was active when a worker crashed.
  std::string checkpoint;  ///< Address of the checkpoint to resume from; empty: train from the beginning.
  std::optional<study::Start> start = {};  ///< Weights to start from; absent: random values.
  std::optional<ForkedRun> fork = {};      ///< Its last fork; a forked job always continues from a checkpoint.
  /// How the weights of `start` become those of this model; absent: they are taken unchanged.
  std::optional<zoo::TransferPlan> transfer = {};
  /// The model of `start`, if train.start_shrink scores its units by loss. The worker that reads the weights then plans
  /// `transfer` again. Absent: `transfer` is final.
  std::optional<graph::Graph> parent = {};
  /// The start race before its first step. It is over once an epoch is measured.
  StartRaceSetup race = {};
  FrozenPart frozen = {};          ///< The part that is not trained; checkpoints and states hold the trained head only.
  study::SelectionRule keep = {};  ///< Rule that selects the epoch which gives its result and weights.
  space::Sample sample = {};       ///< Its hyper-parameter sample, which the rule may use.
  std::string device = {};         ///< Name of the device that trains it; empty: the only one of the executor.
};
/// Checks that a forked job has a checkpoint to continue from. A job without a fork passes. Errors: kNotFound (the
/// checkpoint is lost).
Result<void> check_fork_state(const Job& job);
/// Values that the job's selection rule may use in addition to measurements: the hyper-parameters, and `params` and
/// `flops` of its model if the rule names them. Errors: those of graph::model_cost.
Result<space::Sample> selection_inputs(const Job& job, const graph::OpTable& ops);

/// Name of the loss that the trials of a study minimise, one of step::losses().
const std::string& loss_name(const study::StudyConfig& config, const data::DataSpec& data);

/// Seed of a trial's initial values and dropout masks.
std::uint64_t trial_seed(const study::StudyConfig& config, TrialId trial);

/// The job of a trial: a function of the configuration, the kind of targets and the trial's decisions. `model` is the
/// trial's model. Errors: kInvalidArgument (its hyper-parameter sample), kDataLoss (the data have no such fold).
Result<Job> make_job(const study::StudyConfig& config, const data::DataSpec& data, const study::TrialView& trial,
                     graph::Graph model);

/// One stretch of the training that produced a trial's weights (study::lineage).
struct LineageSegment {
  Job job;                   ///< The job of the trial that trained the stretch.
  std::int64_t through = 0;  ///< Last epoch of the stretch.
};
/// The lineage of a trial through its first `epochs` epochs. A trial that never forked has one segment, its own job.
/// `model` is the trial's model. Errors: those of make_job.
Result<std::vector<LineageSegment>> lineage_jobs(const study::StudyView& view, const data::DataSpec& data,
                                                 const study::TrialView& trial, std::int64_t epochs,
                                                 const graph::Graph& model);

/// A trial has measured an epoch. Epochs of a trial arrive in order, each exactly once after a start(). A job that
/// resumes from a checkpoint first repeats the measurements that the checkpoint holds.
struct EpochReport {
  study::Measurement measurement;  ///< Trial, epoch, step and metrics.
};
/// A trial has failed and cannot continue.
struct FailureReport {
  TrialId trial;           ///< The trial that failed.
  std::int64_t epoch = 0;  ///< The epoch that it was training.
  std::string reason;      ///< Text for the user.
};
/// A checkpoint of a running trial is stored.
struct CheckpointReport {
  TrialId trial;           ///< The trial that was saved.
  std::int64_t epoch = 0;  ///< Complete epochs in the checkpoint.
  std::int64_t step = 0;   ///< Complete steps in the checkpoint.
  std::string address;     ///< Its address in the checkpoint store.
};
/// Answer to Finish. The file holds the current state, and the selected weights if those are of an earlier epoch;
/// test() measures the selected weights.
struct FinishedReport {
  TrialId trial;        ///< The trial that ended.
  Digest state_hash;    ///< Hash of its last state.
  std::string weights;  ///< Address of the stored weights; empty: not kept.
};
/// Answer to PauseTrial. The trial's state is in the checkpoint store and no longer in the executor.
struct TrialPausedReport {
  TrialId trial;           ///< The trial that paused.
  std::int64_t epoch = 0;  ///< Complete epochs in the state.
  std::int64_t step = 0;   ///< Complete steps in the state.
  Digest state_hash;       ///< Hash that Finish would report at this point.
  /// Address of the state, from which a job resumes. test() accepts it like kept weights. Empty: nothing is kept.
  std::string address;
};
/// Answer to PauseAll, after the last checkpoint.
struct AllPausedReport {};
/// A worker trained an epoch of a trial, or part of it. It arrives before the epoch's report. Times are clock seconds.
struct SpanReport {
  TrialId trial;                ///< The trial that was trained.
  std::int64_t epoch = 0;       ///< The epoch.
  std::int64_t worker = 0;      ///< Number of the worker.
  double began = 0, ended = 0;  ///< Clock seconds.
  std::int64_t lanes = 1;       ///< Trials in the shared step, this one included.
  std::int64_t width = 1;       ///< Workers that shared its steps at the beginning, this one included.
  study::SpanCosts costs = {};  ///< Seconds by activity.
  std::string device = {};      ///< Name of the worker's device; empty: the executor has one device.
  /// Timed step of the trial's program as a pipeline, once for each program; or null.
  std::shared_ptr<const pipeline::TimedStep> timed = {};
};
/// The executor itself has failed, for example because the disk is full. The study pauses with this error.
struct ExecutorErrorReport {
  Error error;  ///< Cause.
};
/// A worker process started or ended. Its trials resume from their last checkpoints. It may arrive at any time.
struct WorkerReport {
  std::int64_t worker = 0;               ///< Number of the worker.
  std::int64_t process = 0;              ///< Process id of the operating system.
  bool has_started = false;              ///< True: it started; false: it ended.
  std::string reason;                    ///< Why it ended: "was killed by signal 9 (Killed)".
  std::vector<TrialId> trials;           ///< Its trials, which resume.
  double seconds = 0;                    ///< Most seconds of work that one of its trials lost.
  std::string host = {};                 ///< Host of the process; empty: this host, or unknown.
  std::map<TrialId, double> costs = {};  ///< Seconds of work lost by each trial that the worker had received.
  bool is_dropped = false;  ///< The engine ended it for an invalid message, given in `reason`; not in log records.
};
/// Any message from an executor to the engine.
using Report = std::variant<EpochReport, FailureReport, CheckpointReport, FinishedReport, TrialPausedReport,
                            AllPausedReport, SpanReport, ExecutorErrorReport, WorkerReport>;
/// The trial that a report is about; nullopt for reports about the executor or a worker.
std::optional<TrialId> trial_of(const Report& report);

// Commands. One for a trial that has ended, was abandoned or never started has no effect.

/// The trial may train through this epoch. It starts with 0 allowed epochs and waits. An allowance is never withdrawn.
/// Like every command, it has no effect on a trial that has ended, was abandoned or never started.
struct Allow {
  TrialId trial;           ///< The trial.
  std::int64_t epoch = 0;  ///< Last epoch that it may train.
};
/// The trial ends after its allowed epoch. With `abandon` it ends at once and without a report.
struct Finish {
  TrialId trial;              ///< The trial.
  bool keep_weights = false;  ///< Store its weights.
  bool abandon = false;       ///< End at once, without a report.
};
/// The trial's state goes to the checkpoint store after its allowed epoch, and its lane is free. Any worker of any
/// executor may resume it: start() with the reported address.
struct PauseTrial {
  TrialId trial;  ///< The trial.
};
/// Save every started trial at its next step boundary, then stop training.
struct PauseAll {};
/// Changes the lane groups and allows epochs in one message, so that no member of a group trains before the others may.
/// Trials of one group may share their steps; other trials stay in their groups. A trial that was never named trains
/// alone. Sharing changes training times only, never numbers.
struct UpdateGroups {
  schedule::Regrouping changes;  ///< Trials by their new groups.
  std::vector<Allow> allow;      ///< Epochs that trials may train from now on.
};
/// Helpers may share the trial's steps, from the beginning of an epoch to its end. Numbers stay the same.
struct AcceptHelpers {
  TrialId trial;        ///< The trial.
  std::string session;  ///< Path in shared memory at which helpers meet its worker; empty: no helpers.
};
/// A worker helps to train this job while it has no other work. Results of the job come from its own worker only.
struct HelpTrial {
  Job job;              ///< The job to help.
  std::string session;  ///< As AcceptHelpers::session; empty: stop helping.
};
/// Any command to an executor, except start().
using Command = std::variant<Allow, Finish, PauseTrial, PauseAll, UpdateGroups, AcceptHelpers, HelpTrial>;

/// How predictions of several models are blended for data of this kind.
Blend blend_of(const data::DataSpec& data);

/// A trained trial to measure, alone or in a blend.
struct EvaluatedMember {
  Job job;              ///< Job of the trial.
  std::string weights;  ///< Address in the checkpoint store.
  double share = 1;     ///< Share of the blend; shares sum to 1.
};

/// Runs jobs. The engine uses executors through this interface only, so tests run it with a fake. One thread calls it;
/// workers run behind it. executor_conformance.h holds the contract as tests.
class Executor {
 public:
  virtual ~Executor() = default;
  /// Starts or resumes a job. Reports of an earlier start of the same trial that were not read are dropped; their files
  /// stay.
  ///
  /// A job with a checkpoint resumes: the checkpoint has its own steps and measurements, and the start is not used. A
  /// job with a start alone begins with the weights of another trial. A job with a fork continues from a checkpoint,
  /// its own or the other trial's, with its own recipe and seed, and first repeats its own measurements.
  ///
  /// Errors: kInvalidArgument, kResourceExhausted, kDataLoss and kNotFound (the checkpoint or the state to start from).
  /// An error ends the trial, not the study.
  virtual Result<void> start(const Job& job) = 0;
  /// Sends a command. It returns at once; effects arrive as reports.
  virtual void command(const Command& command) = 0;
  /// The next report; waits at most `seconds`. nullopt: none arrived in time.
  virtual std::optional<Report> next(double seconds) = 0;
  /// Metrics of stored weights on the validation or test part ("val_accuracy", "test_accuracy"). For several members,
  /// those of their blended predictions (base/blend.h). Blocks. Needs at least one member; all members have different
  /// weights.
  virtual Result<std::map<std::string, double>> measure(std::span<const EvaluatedMember> members, data::Part part) = 0;

  /// Metrics of one trial on the test part. Blocks.
  Result<std::map<std::string, double>> test(const Job& job, const std::string& weights) {
    const EvaluatedMember only{job, weights};
    return measure({&only, 1}, data::Part::kTest);
  }
};

}  // namespace lanista::engine
