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

/// The nodes of a trial's model that are not trained, and the address of their weights.
struct FrozenPart {
  std::set<graph::NodeId> nodes;  ///< Ids in the trial's model; empty: every node is trained.
  std::string weights;            ///< Address of the weights in the checkpoint store.
  /// Expected number of passes over the data in which trials read the outputs of this part, summed over all trials of
  /// the study or of one fold. The decision to cache these outputs depends on it.
  std::int64_t epochs = 0;
};

/// The last fork of a trial: from an epoch on, it continues from the state of the trial `from`. If Job::checkpoint is a
/// state of `from`, the run begins from it and has `measurements` as its history. If it is a later checkpoint of the
/// forked trial itself, the checkpoint has the history.
struct ForkedRun {
  TrialId from;  ///< The other trial, which supplied the state.
  /// Measurements of the forked trial itself, from epoch 1 through the epoch of the fork.
  std::vector<study::Measurement> measurements;
};

/// What an executor needs to train one trial: everything that determines its numbers, and the checkpoint to resume
/// from.
struct Job {
  TrialId trial;                 ///< The trial that this job trains.
  graph::Graph model;            ///< The whole model, with its frozen part.
  study::Recipe recipe;          ///< All settings of its training.
  std::uint64_t trial_seed = 0;  ///< Seed of initial values and dropout masks.
  std::uint64_t data_seed = 0;   ///< Seed of the order of rows and of augmentation, equal for all trials of a study.
  /// Index of the fold on which it validates; absent: the one split of the study.
  std::optional<std::int64_t> fold = {};
  /// Logical time at the beginning of its first epoch. Of trials with equal priority, workers take the one with the
  /// earliest end of its next epoch.
  double logical_start = 0;
  double logical_epoch = 1;  ///< Logical duration of one epoch, in FLOPs (logical_epoch_of).
  double priority = 0;       ///< Priority of its trial group; workers take trials with higher values first.
  bool alone = false;  ///< True: it shares no step with other trials, because it was active when a worker crashed.
  /// Address of the state to resume from, in the checkpoint store; empty: train from the beginning.
  std::string checkpoint;
  std::optional<study::Start> start = {};  ///< Weights to start from, unless it resumes; absent: random values.
  std::optional<ForkedRun> fork = {};      ///< Its last fork; absent: it never forked. A forked job needs a checkpoint.
  /// How the weights of `start` become those of `model`; absent: they are copied unchanged.
  std::optional<zoo::TransferPlan> transfer = {};
  /// The model of `start`, if it has more units than `model` and the loss selects which units stay
  /// (train.start_shrink). The worker that reads the weights then computes `transfer` again. Absent: `transfer` is
  /// final.
  std::optional<graph::Graph> parent = {};
  FrozenPart frozen = {};          ///< The part that is not trained; checkpoints and states hold the other nodes only.
  study::SelectionRule keep = {};  ///< Rule that selects the epoch which gives its result and its weights.
  /// Its hyper-parameter sample, if `keep` has constraints, which may name hyper-parameters; else empty.
  space::Sample sample = {};
  std::string device = {};  ///< Name of the device that trains it; empty: the executor has only one.
};
/// Checks that a forked job has a checkpoint to continue from. A job without a fork passes. Errors: kNotFound (it is
/// forked, and Job::checkpoint is empty).
Result<void> check_fork_state(const Job& job);
/// Values that the constraints of the job's selection rule may name in addition to measured metrics: Job::sample, and
/// `params` and `flops` of the model if the rule names one of them. Errors: those of graph::model_cost (kNotFound,
/// kInvalidArgument).
Result<space::Sample> selection_inputs(const Job& job, const graph::OpTable& ops);

/// Name of the loss that the trials of a study minimise, one of autodiff::losses(). With `auto` it is the default loss
/// for the targets of `data`.
const std::string& loss_name(const study::StudyConfig& config, const data::DataSpec& data);

/// Seed of a trial's initial values and dropout masks: a function of run.seed and the trial's number.
std::uint64_t trial_seed(const study::StudyConfig& config, TrialId trial);

/// The job of a trial: a function of the configuration, the kind of targets and the trial's decisions. `model` is the
/// trial's model. The frozen part, the transfer plans, the checkpoint, the priority and Job::logical_epoch keep their
/// defaults. Errors: kInvalidArgument (a value of its hyper-parameter sample is not allowed), kDataLoss (the data have
/// no such fold).
Result<Job> make_job(const study::StudyConfig& config, const data::DataSpec& data, const study::TrialView& trial,
                     graph::Graph model);

/// One stretch of the training that produced a trial's weights: epochs that one trial trained (study::lineage).
struct LineageSegment {
  Job job;                   ///< Job of the trial that trained the stretch.
  std::int64_t through = 0;  ///< Last epoch of the stretch; it begins after the last epoch of the stretch before.
};
/// The stretches that produced a trial's weights after `epochs` epochs, in order of training. A trial that never forked
/// has one segment, its own job. `model` is the trial's model, which forks do not change. Errors: those of make_job
/// (kInvalidArgument, kDataLoss).
Result<std::vector<LineageSegment>> lineage_jobs(const study::StudyView& view, const data::DataSpec& data,
                                                 const study::TrialView& trial, std::int64_t epochs,
                                                 const graph::Graph& model);

/// A trial has measured an epoch. After a start(), epochs of a trial arrive in order, each exactly once. A job that
/// resumes from a checkpoint first repeats the measurements that the checkpoint holds.
struct EpochReport {
  study::Measurement measurement;  ///< Trial, epoch, step and metrics.
};
/// A trial has failed and cannot continue.
struct FailureReport {
  TrialId trial;           ///< The trial that failed.
  std::int64_t epoch = 0;  ///< The epoch that it was training.
  std::string reason;      ///< Cause, as text for the user.
};
/// A checkpoint of a running trial is stored.
struct CheckpointReport {
  TrialId trial;           ///< The trial with this state.
  std::int64_t epoch = 0;  ///< Number of complete epochs in the checkpoint.
  std::int64_t step = 0;   ///< Number of complete steps in the checkpoint.
  std::string address;     ///< Address of the file in the checkpoint store.
};
/// Answer to Finish: a trial has ended. The stored file holds its last state. If the selection rule chose an earlier
/// epoch, it holds the weights of that epoch too, and test() measures those.
struct FinishedReport {
  TrialId trial;  ///< The trial that ended.
  /// Hash of the state after its last epoch, and of the selected weights if they are of an earlier one.
  Digest state_hash;
  std::string weights;  ///< Address of the file; empty: none was stored, as Finish requested.
};
/// A trial has paused and is no longer in the executor. As the answer to PauseTrial, its state is in the checkpoint
/// store. If `address` is empty, no state was stored: the engine abandoned a worker that had run ahead, and `step` is
/// 0.
struct TrialPausedReport {
  TrialId trial;           ///< The trial that paused.
  std::int64_t epoch = 0;  ///< Number of complete epochs in the state.
  std::int64_t step = 0;   ///< Number of complete steps in the state.
  Digest state_hash;       ///< The hash that FinishedReport would have at this point.
  /// Address of the state, from which a job resumes and which test() accepts. Empty: no state is stored.
  std::string address;
};
/// Answer to PauseAll, after the last checkpoint is stored.
struct AllPausedReport {};
/// One span: a worker trained one epoch of a trial, or a part of it, without a break. It arrives before the report of
/// the epoch.
struct SpanReport {
  TrialId trial;                ///< The trial that was trained.
  std::int64_t epoch = 0;       ///< The epoch, from 1.
  std::int64_t worker = 0;      ///< Index of the worker.
  double began = 0, ended = 0;  ///< Begin and end on the executor's clock, in seconds.
  std::int64_t lanes = 1;       ///< Number of trials in the shared step, this one included.
  std::int64_t width = 1;       ///< Number of workers that shared its steps at the beginning of the span.
  study::SpanCosts costs = {};  ///< This trial's seconds of the span, by activity.
  std::string device = {};      ///< Name of the worker's device; empty: the executor has one device.
  /// Times of one step of the program that ran as a pipeline, reported once for each program; else null.
  std::shared_ptr<const pipeline::TimedStep> timed = {};
};
/// The executor itself has failed, for example because the disk is full. The study pauses with this error, and no trial
/// is blamed.
struct ExecutorErrorReport {
  Error error;  ///< Cause.
};
/// A worker process has started or ended. After its end, its trials resume from their last checkpoints. It may arrive
/// at any time.
struct WorkerReport {
  std::int64_t worker = 0;      ///< Index of the worker.
  std::int64_t process = 0;     ///< Process id of the operating system.
  bool has_started = false;     ///< True: it started; false: it ended.
  std::string reason;           ///< Cause of the end: "was killed by signal 9 (Killed)"; empty after a start.
  std::vector<TrialId> trials;  ///< After an end: the trials that it had and that resume elsewhere.
  double seconds = 0;           ///< Largest loss of one of its trials: seconds since its last checkpoint.
  std::string host = {};        ///< Host of the process; empty: this host, or unknown.
  /// Seconds since the last checkpoint of each trial that the worker had received and that resumes.
  std::map<TrialId, double> costs = {};
  /// True: the engine ended it for an invalid message, which `reason` describes. Log records do not store it.
  bool is_dropped = false;
};
/// Any message from an executor to the engine.
using Report = std::variant<EpochReport, FailureReport, CheckpointReport, FinishedReport, TrialPausedReport,
                            AllPausedReport, SpanReport, ExecutorErrorReport, WorkerReport>;
/// The trial that a report is about; nullopt for AllPausedReport, ExecutorErrorReport and WorkerReport.
std::optional<TrialId> trial_of(const Report& report);

// Commands. One for a trial that has ended, was abandoned or never started has no effect.

/// The trial may train through this epoch. It starts with 0 allowed epochs and waits. A smaller value than before has
/// no effect.
struct Allow {
  TrialId trial;           ///< The trial.
  std::int64_t epoch = 0;  ///< Last epoch that it may train, from 1.
};
/// The trial ends after its allowed epoch, with a FinishedReport. With `abandon` it ends at once and without a report.
struct Finish {
  TrialId trial;              ///< The trial.
  bool keep_weights = false;  ///< True: store its state and selected weights.
  bool abandon = false;       ///< True: end at once, without a report and without a file.
};
/// After its allowed epoch, the trial's state is moved to the checkpoint store, and its lane becomes free. Any worker
/// of any executor may resume it: start() with the reported address.
struct PauseTrial {
  TrialId trial;  ///< The trial.
};
/// Saves every started trial at its next step boundary and stops training. AllPausedReport follows.
struct PauseAll {};
/// Changes the lane groups and allows epochs in one message, so that no member of a group trains before the others may.
/// Trials of one group may share their steps. A trial that is not named stays in its group; one that was never named
/// trains alone. Groups change training times only, never numbers.
struct UpdateGroups {
  plan::Regrouping changes;  ///< Trials with a new group, by the number of that group.
  std::vector<Allow> allow;  ///< New last allowed epochs of trials.
};
/// Lets other workers share the trial's steps, from the beginning of an epoch to its end. The trial's numbers do not
/// change.
struct AcceptHelpers {
  TrialId trial;  ///< The trial to help.
  /// Path of the shared-memory file through which helpers and its worker exchange data; empty: no helpers.
  std::string session;
};
/// Asks a worker to share the steps of another worker's trial while it has no other work. Only the trial's own worker
/// reports results.
struct HelpTrial {
  Job job;              ///< The job to help.
  std::string session;  ///< AcceptHelpers::session of the trial; empty: stop helping.
};
/// Any command to an executor. start() is a call of its own.
using Command = std::variant<Allow, Finish, PauseTrial, PauseAll, UpdateGroups, AcceptHelpers, HelpTrial>;

/// How predictions of several models are blended for this kind of targets: classes, labels or numbers.
Blend blend_of(const data::DataSpec& data);

/// A trained trial to measure, alone or as a member of a blend.
struct EvaluatedMember {
  Job job;              ///< Job of the trial.
  std::string weights;  ///< Address of its weights in the checkpoint store.
  double share = 1;     ///< Weight of its predictions in the blend, above 0; shares sum to 1.
};

/// Runs jobs and returns their reports. The engine uses executors through this interface only, so tests run it with a
/// fake. One thread calls it; workers run behind it. executor_conformance.h holds the contract as tests.
class Executor {
 public:
  virtual ~Executor() = default;
  /// Starts or resumes a job, which then waits for Allow. Unread reports of an earlier start of the same trial are
  /// dropped; its files stay.
  ///
  /// A job with a checkpoint resumes: the checkpoint has its own steps and measurements, and Job::start is not used. A
  /// job with Job::start alone begins with the weights of another trial. A forked job continues from a checkpoint, its
  /// own or that of the other trial, with its own recipe and seed. It first repeats its own measurements.
  ///
  /// Errors: kInvalidArgument (a job that cannot be trained), kResourceExhausted (memory or threads), kDataLoss and
  /// kNotFound (the checkpoint or the state to start from). An error ends the trial, not the study.
  virtual Result<void> start(const Job& job) = 0;
  /// Sends a command and returns at once. Its effects arrive as reports. For an unknown or ended trial it has no
  /// effect.
  virtual void command(const Command& command) = 0;
  /// The next report, in order of arrival; waits at most `seconds`. nullopt: none arrived in time.
  virtual std::optional<Report> next(double seconds) = 0;
  /// Metrics by name of stored weights on the validation or test part ("val_accuracy", "test_accuracy"). For several
  /// members they rate the blended predictions (base/blend.h). Blocks until it is measured. Needs at least one member;
  /// all members have different weights. Errors: those of the checkpoint store, and of the executor.
  virtual Result<std::map<std::string, double>> measure(std::span<const EvaluatedMember> members, data::Part part) = 0;

  /// Metrics by name of one trial on the test part ("test_accuracy"), as measure(). Blocks.
  Result<std::map<std::string, double>> test(const Job& job, const std::string& weights) {
    const EvaluatedMember only{job, weights};
    return measure({&only, 1}, data::Part::kTest);
  }
};

}  // namespace lanista::engine
