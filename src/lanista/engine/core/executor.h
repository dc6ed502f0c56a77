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
#include "lanista/plan/grouping/plan.h"
#include "lanista/model/space/domain.h"
#include "lanista/search/study/config.h"
#include "lanista/search/study/epoch_selection.h"
#include "lanista/search/study/trial.h"
#include "lanista/search/study/study_view.h"
#include "lanista/model/transfer/transfer.h"

namespace lanista::engine {

/// The part of a study's models that is not trained.
struct FrozenPart {
  std::set<graph::NodeId> nodes;  ///< of the trial's model; empty: all is trained
  std::string weights;            ///< address of their tensors in the checkpoint store
  std::int64_t epochs = 0;        ///< times that all the study's trials together read what is kept, as far as it is
                                  ///< known: whether keeping pays
};

/// Of a trial that went on from another's state: with a checkpoint that is the other's it goes on from that as itself.
struct ForkedRun {
  TrialId from;
  std::vector<study::Measurement> measurements;  ///< its own, through the epoch of the fork
};

/// What a job's start has to be better than (study::StartRace); random values are not among these.
struct StartRaceSetup {
  std::int64_t steps = 0;  ///< 0: there is no race
  struct Alternative {
    study::Start start;
    std::optional<zoo::TransferPlan> transfer = {};  ///< as Job::transfer
    double ease = 1;                                 ///< as Recipe::ease, if the trial goes on from it
    std::optional<graph::Graph> parent = {};         ///< as Job::parent
  };
  std::vector<Alternative> alternatives = {};
};

/// Everything that determines a trial's numbers, and where to go on from.
struct Job {
  TrialId trial;
  graph::Graph model;
  study::Recipe recipe;
  std::uint64_t trial_seed = 0;  ///< initialisation and masks
  std::uint64_t data_seed = 0;   ///< order of samples; the study's
  std::optional<std::int64_t> fold = {};  ///< whose rows it trains and measures on; absent: the study's one split
  double logical_start = 0;      ///< workers prefer the trial whose next epoch is earliest in logical time
  double logical_epoch = 1;      ///< logical duration of one epoch; one that a budget in steps cuts short counts whole
  double priority = 0;           ///< of its group; workers prefer higher ones
  bool alone = false;            ///< shares no step: it, or who shared one with it, has cost a process its life
  std::string checkpoint;        ///< address of a checkpoint to resume from; empty: from the beginning
  std::optional<study::Start> start = {};  ///< of whose state the beginning is a clone; absent: random values
  std::optional<ForkedRun> fork = {};      ///< its last; such a job never begins, it goes on from a checkpoint
  std::optional<zoo::TransferPlan> transfer =
      {};                                  ///< how the state that `start` names becomes this model's; absent: as it is
  /// The model that `start` is of, where the loss has to say which of its units stay (train.start_shrink): `transfer`
  /// is then made anew by whoever has the weights. Absent: it stands.
  std::optional<graph::Graph> parent = {};
  StartRaceSetup race = {};                    ///< before its first step; over, once an epoch is measured
  FrozenPart frozen = {};                  ///< checkpoints and states hold what is trained, the head
  study::SelectionRule keep = {};               ///< which of its epochs the trial stands for
  space::Sample sample = {};               ///< its hyper-parameters, of which the rule may speak
  std::string device = {};                 ///< that trains it; empty: whatever the executor has
};
/// A forked trial goes on from a state or not at all. Errors: kNotFound (there is none).
Result<void> check_fork_state(const Job& job);
/// What the job's rule may want to know beside measurements: hyper-parameters, and where it asks for them, the params
/// and flops of its model. Errors: graph::model_cost's.
Result<space::Sample> selection_inputs(const Job& job, const graph::OpTable& ops);

/// The loss that trials of a study minimise, of step::losses().
const std::string& loss_name(const study::StudyConfig& config, const data::DataSpec& data);

/// Of a trial's initial values and masks.
std::uint64_t trial_seed(const study::StudyConfig& config, TrialId trial);

/// What a trial trains: a function of the configuration, the kind of targets and the trial's decisions alone. `model`
/// is the trial's. Errors: kInvalidArgument (its sample), kDataLoss (the data have no such fold).
Result<Job> make_job(const study::StudyConfig& config, const data::DataSpec& data, const study::TrialView& trial,
                     graph::Graph model);

/// A stretch of a trial's line (study::lineage): trained through this epoch.
struct LineageSegment {
  Job job;
  std::int64_t through = 0;
};
/// What made a trial what it is after its first `epochs` epochs; of one that never forked its own job. `model` is the
/// trial's. Errors: make_job's.
Result<std::vector<LineageSegment>> lineage_jobs(const study::StudyView& view, const data::DataSpec& data,
                                          const study::TrialView& trial, std::int64_t epochs,
                                          const graph::Graph& model);

// What an executor tells. Per trial, epochs come in order and each exactly once per start(); a job that continues from
// a checkpoint first repeats the measurements the checkpoint carries.
struct EpochReport {
  study::Measurement measurement;
};
/// The trial cannot go on; `epoch` is the one it was in.
struct FailureReport {
  TrialId trial;
  std::int64_t epoch = 0;
  std::string reason;
};
struct CheckpointReport {
  TrialId trial;
  std::int64_t epoch = 0;  ///< whole epochs inside
  std::int64_t step = 0;
  std::string address;
};
/// Answer to Finish. The file holds the state as it stands, and beside it the weights that the trial stands for, if
/// those are of an earlier epoch; test() measures those.
struct FinishedReport {
  TrialId trial;
  Digest state_hash;
  std::string weights;  ///< address; empty if not kept
};
/// Answer to PauseTrial: the trial is in the store, and no longer with the executor.
struct TrialPausedReport {
  TrialId trial;
  std::int64_t epoch = 0;  ///< whole epochs inside
  std::int64_t step = 0;
  Digest state_hash;    ///< what Finish would have told here
  std::string address;  ///< to go on from, and as good as kept weights: test() takes it; empty: nothing is kept
};
/// Answer to PauseAll, after the last checkpoint.
struct AllPausedReport {};
/// A worker worked on an epoch of the trial, or on a part of it; told before the epoch's report. Clock seconds.
struct SpanReport {
  TrialId trial;
  std::int64_t epoch = 0;
  std::int64_t worker = 0;
  double began = 0, ended = 0;
  std::int64_t lanes = 1;  ///< trials that it was trained with, itself included
  std::int64_t width = 1;  ///< workers that began it together, this one included
  study::SpanCosts costs = {};  ///< what the seconds went into
  std::string device = {};      ///< of the worker; empty: the executor has one for all
  /// A step of the trial's program in stages as it was, once a program; or null.
  std::shared_ptr<const pipeline::TimedStep> timed = {};
};
/// The executor itself is broken (disk full while saving, say): the study must pause with this error.
struct ExecutorErrorReport {
  Error error;
};
/// A worker process came or went; the trials that it had go on from their last checkpoints. May be told at any time.
struct WorkerReport {
  std::int64_t worker = 0;
  std::int64_t process = 0;  ///< as the system counts them
  bool has_started = false;
  std::string reason;           ///< why it went: "was killed by signal 9 (Killed)"
  std::vector<TrialId> trials;  ///< that it had, and that go on
  double seconds = 0;           ///< of work, that one of them lost at most
  std::string host = {};        ///< where it runs or ran; empty: here, or nobody knows
  std::map<TrialId, double> costs = {};  ///< the same seconds of each trial that it had heard of
  bool is_dropped = false;  ///< it sent what no honest worker sends, as the reason says; not in records
};
using Report = std::variant<EpochReport, FailureReport, CheckpointReport, FinishedReport, TrialPausedReport, AllPausedReport,
                            SpanReport, ExecutorErrorReport, WorkerReport>;
/// Whom it is about, if that is one trial.
std::optional<TrialId> trial_of(const Report& report);

// What an executor is told. A command for a trial that has ended, was abandoned or never started does nothing.

/// The trial may train through this epoch (whole epochs; it starts with 0 allowed and waits there). Never taken back.
struct Allow {
  TrialId trial;
  std::int64_t epoch = 0;
};
/// The trial ends as it stands after its allowed epoch (or, with `abandon`, at once, without a report).
struct Finish {
  TrialId trial;
  bool keep_weights = false;
  bool abandon = false;
};
/// The trial goes into the store as it stands after its allowed epoch, and its place is free. Any worker of any
/// executor may go on with it: start() with the address that is told.
struct PauseTrial {
  TrialId trial;
};
/// Save every started trial at its next step boundary, then stop working.
struct PauseAll {};
/// From now on these trials are in these groups, others where they were, and the trials of a group may share their
/// steps; and these may train so far: all at once, so that none of them begins before its company may. A trial trains
/// alone until it is told of. What is shared changes no number, only the time it takes.
struct UpdateGroups {
  schedule::Regrouping changes;
  std::vector<Allow> allow;
};
/// The trial's steps may be shared with helpers, from the beginning of an epoch to its end: they meet at `session`, a path
/// in shared memory. Empty: with nobody. Changes no number.
struct AcceptHelpers {
  TrialId trial;
  std::string session;
};
/// Whenever there is nothing else to do, help whoever trains this job; what comes of it is nobody's but theirs. Without a
/// session: nobody is to be helped.
struct HelpTrial {
  Job job;
  std::string session;
};
using Command = std::variant<Allow, Finish, PauseTrial, PauseAll, UpdateGroups, AcceptHelpers, HelpTrial>;

/// How predictions of several models of such data become one.
Blend blend_of(const data::DataSpec& data);

/// A trained trial whose predictions are asked for, alone or blended with others.
struct EvaluatedMember {
  Job job;
  std::string weights;  ///< address
  double share = 1;     ///< of the blend; shares sum to 1
};

/// Runs jobs. The engine knows executors only through this, so that everything above the torch wall runs against a
/// fake. Called from one thread; workers live behind it. executor_conformance.h is what it says as tests.
class Executor {
 public:
  virtual ~Executor() = default;
  /// Resuming and cloning are two things: a job's checkpoint is its own, with its steps and measurements, and needs
  /// nothing of its start; a start's state is another trial's, of which it takes the weights alone.
  /// Forking is a third thing: the checkpoint of a job with a fork may be its own or the other trial's, whose state it
  /// goes on from, with its own recipe, seed and measurements, which it tells first.
  /// Errors: kInvalidArgument, kResourceExhausted, kDataLoss and kNotFound (checkpoint, or the state to start from).
  /// The trial's failure, not the study's. What was not yet told of an earlier start of the trial is void, but for files.
  virtual Result<void> start(const Job& job) = 0;
  virtual void command(const Command& command) = 0;
  /// The next report, waiting at most `seconds`; nullopt on time-out.
  virtual std::optional<Report> next(double seconds) = 0;
  /// Metrics on the validation or test part ("val_accuracy", "test_accuracy") of what stored weights stand for; of several
  /// members, of their blended predictions (base/blend.h). Blocks. At least one member, each of other weights.
  virtual Result<std::map<std::string, double>> measure(std::span<const EvaluatedMember> members, data::Part part) = 0;

  /// Of one on the test part.
  Result<std::map<std::string, double>> test(const Job& job, const std::string& weights) {
    const EvaluatedMember only{job, weights};
    return measure({&only, 1}, data::Part::kTest);
  }
};

}  // namespace lanista::engine
