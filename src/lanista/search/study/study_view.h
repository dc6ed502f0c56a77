#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/op.h"
#include "lanista/plan/pipeline/timed_step.h"
#include "lanista/search/study/baseline.h"
#include "lanista/search/study/config.h"
#include "lanista/search/study/earlier_study.h"
#include "lanista/search/study/ensemble.h"
#include "lanista/search/study/epoch_selection.h"
#include "lanista/search/study/span_costs.h"
#include "lanista/search/study/trainings.h"
#include "lanista/search/study/trial.h"
#include "lanista/search/study/zoo_start.h"

namespace lanista::study {

/// One trial with its history, as the log records it.
struct TrialView {
  TrialId id;         ///< Number of the trial.
  Proposal proposal;  ///< Decisions of the trial; after a fork, `sample` has the current hyper-parameters (begun).
  std::vector<Measurement> measurements;  ///< Measurements, by rising epoch.
  std::optional<Outcome> outcome;         ///< Absent: the trial has not ended.
  double logical_start = 0;               ///< Time of its start on the logical clock.
  std::int64_t parameters = 0;            ///< Number of parameters of its model.
  std::string device = {};  ///< Name of the device that trains the whole trial; empty: all trials have one device.
  bool paused = false;      ///< True: it has no outcome and no slot, and waits to be resumed.
  std::int64_t budget = 0;  ///< Epoch to which it may train now; a resumption raises it.
  /// Rungs of the trial so far, in epochs: every budget that the trial has had, ascending. The last one may be the full
  /// schedule. Empty for a trial that began with its full budget.
  std::vector<std::int64_t> rungs = {};
  /// Forks of the trial, the oldest first.
  std::vector<Fork> forks = {};
  space::Sample first_sample = {};  ///< Hyper-parameters before the first fork; empty without forks.

  /// Returns the proposal as it was made, with the hyper-parameters from before any fork. Its keys are run_key and
  /// decisions_key of the trial.
  Proposal begun() const;
  /// Returns the hyper-parameters with which the trial trained `epoch`, counted from 1.
  const space::Sample& sample_at(std::int64_t epoch) const;
};

/// A stretch of training in the lineage of a trial: some epochs of one trial, with one seed and sample.
struct LineageSegment {
  TrialId trial;                       ///< Trial that was trained.
  std::int64_t from = 0, through = 0;  ///< Epochs from + 1 to through, both included.
  space::Sample sample;                ///< Hyper-parameters of these epochs.
};

/// The work of one worker on one epoch of a trial, or on the part of it before a pause. Seconds are worked seconds of
/// the study: time between attempts does not count.
struct Span {
  TrialId trial;           ///< Trial that the worker trained.
  std::int64_t epoch = 0;  ///< Epoch that the worker trained, from 1.
  std::int64_t worker = 0;
  double began = 0, ended = 0;  ///< Start and end, in worked seconds of the study.
  std::int64_t lanes = 1;       ///< Trials that were trained together, this one included.
  std::int64_t width = 1;       ///< Workers that shared its steps from its start.
  SpanCosts costs = {};         ///< Seconds of the span by kind of work.
  std::size_t host = 0;         ///< Host of the worker: index + 1 into WorkerHistory::hosts; 0: not recorded.
  std::string device = {};      ///< Device of the step; empty: all trials have one device.
  /// A timed step of the trial's program in pipeline stages (run.pipeline), if one was timed in this span; else null.
  std::shared_ptr<const pipeline::TimedStep> timed = {};
};

/// History of the worker processes of a study. It is empty for workers that are threads, except for `hosts`. Hosts are
/// recorded for remote workers. With several devices in one process, each device is recorded as a host.
struct WorkerHistory {
  /// A connected worker process.
  struct Present {
    std::int64_t worker = 0;   ///< Number of the worker.
    std::int64_t process = 0;  ///< Process id on its machine.
    std::string host = {};     ///< Name of its host; empty: not recorded.
  };
  /// A worker process that was lost.
  struct Lost {
    std::int64_t worker = 0, process = 0;  ///< Numbers of the worker and of its process.
    std::string reason;                    ///< Why it was lost, for people.
    std::int64_t trials = 0;               ///< Trials that resumed on other workers.
    double seconds = 0;                    ///< Most seconds of training work that one of these trials has to repeat.
    std::string host = {};                 ///< Name of its host; empty: not recorded.
  };
  /// A host that has or had remote workers, or a device.
  struct Host {
    std::string name;       ///< Name of the host or device.
    std::int64_t lost = 0;  ///< Number of its workers that were lost.
  };
  /// A trial that was lost with its remote worker and resumes from its last checkpoint.
  struct Move {
    TrialId trial;                        ///< Trial that was lost.
    std::int64_t from = 0;                ///< Number of the lost worker.
    std::string from_host;                ///< Host of the lost worker; empty: not recorded.
    std::optional<std::int64_t> to = {};  ///< Number of the next worker that reported on it; absent: none did so far.
    std::string to_host = {};             ///< Host of that worker; empty: not recorded.
    double seconds = 0;                   ///< Seconds of training work that it repeats, at most.
  };
  std::vector<Present> present;  ///< Connected workers, by rising worker number.
  std::int64_t lost = 0;         ///< Number of workers that were lost so far.
  double lost_seconds = 0;       ///< Upper bound of the seconds of work that any one trial lost at once.
  std::optional<Lost> last;      ///< Last lost worker; absent: none was lost.
  std::vector<Host> hosts = {};  ///< Hosts, in the order of their first record in the log.
  std::vector<Move> moves = {};  ///< Moves of trials, in the order in which workers were lost.
};

/// The model with which trials begin as far as their structure allows (train.start: file). Its weights are in the
/// checkpoint store.
struct StartFile {
  std::string name;                      ///< Name in the study file.
  std::string address;                   ///< Content address of the weights.
  std::string graph;                     ///< Text form of the graph.
  std::vector<std::string> labels = {};  ///< Names of its classes; empty: not known.
};

/// The state of a study, computed from its records. Records of a running engine and of a log on disk give the same
/// state.
struct StudyView {
  StudyConfig config;                          ///< Settings of the study.
  std::string config_text;                     ///< Text of the resolved study file.
  nlohmann::json data;                         ///< Description of the data set as the log header stores it.
  nlohmann::json models;                       ///< Base models: [{"name", "graph" (text form)}].
  std::string frozen;                          ///< Content address of the frozen weights; empty: all is trained.
  std::optional<StartFile> start_file;         ///< Absent: no train.start: file.
  std::optional<ZooSnapshot> zoo;              ///< Offer of the zoo at the start of the study; absent: no zoo.
  std::map<std::string, ZooModel> zoo_models;  ///< Zoo models by id with which trials began.
  std::vector<Baseline> baselines;             ///< Metrics of simple models for comparison; empty in old studies.
  std::optional<Earlier> earlier;              ///< Trials of an earlier study; absent: none.
  nlohmann::json numerics;        ///< What the result bits depend on, such as the numeric class, as last recorded.
  std::vector<TrialView> trials;  ///< Index = id - 1.
  std::vector<Span> spans;        ///< In the order of the log.
  WorkerHistory workers;          ///< Worker processes; empty if workers are threads.
  std::optional<std::string> end_reason;  ///< Why the study has ended; absent: it has not ended.
  std::optional<TrialId> winner;          ///< Best trial of the ended study; absent: not ended, or no trial finished.
  std::map<std::string, double> test;     ///< Metrics of the winner on the test part, by name; empty: not measured.
  std::optional<Ensemble> ensemble;       ///< Ensemble in best/; absent: the winner alone.
  /// Training steps of all trials in the log, discarded branches and race candidates included.
  std::int64_t steps = 0;
  double began = 0;    ///< Unix seconds of the first attempt.
  double seconds = 0;  ///< Worked seconds over all attempts.
};

/// Returns the base model of a trial, from the log alone. Errors: kDataLoss (the log lacks the base model), those of
/// graph::parse (kInvalidArgument).
Result<graph::Graph> base_model(const StudyView& view, const TrialView& trial);
/// Returns the model of a trial: its base model with its recorded edits. `ops` defines the operators. Errors: those of
/// base_model and of graph::apply_edits (kDataLoss, kNotFound, kInvalidArgument).
Result<graph::Graph> trial_model(const StudyView& view, const TrialView& trial, const graph::OpTable& ops);

/// Returns an epoch selector without measurements, with the selection rule of the study and the hyper-parameters of the
/// trial.
EpochSelector epoch_selector_of(const StudyConfig& config, const TrialView& trial);
/// Returns the result of a trial with at least one measurement: that of the selected epoch. For a failed, cancelled or
/// pruned trial it is the last measurement.
const Measurement& result_of(const StudyConfig& config, const TrialView& trial);

/// The key by which finished trials are compared; smaller is better. Members count in their order: the next one decides
/// only if those before are equal.
struct RankingKey {
  /// True: a training of the proposal was cancelled, so its average misses some folds or repetitions. It is ranked
  /// after all complete proposals. The first rules of studies rank it as complete, or not at all.
  bool is_incomplete = false;
  double violation = 0;  ///< Sum of the violations of all constraints; 0: all satisfied.
  /// One entry for each goal, in order: {false, loss}, where a smaller loss is better. NaN or a missing metric is
  /// {true, 0}, the worst value.
  std::vector<std::pair<bool, double>> losses = {};
  /// The same entry for the goal that breaks ties (tie_breaking_goal); {false, 0} without one.
  std::pair<bool, double> tie = {};
  std::int64_t parameters = 0;  ///< Number of parameters of the model.
  TrialId trial = {};           ///< Trial that is ranked; the lower number wins.
  auto operator<=>(const RankingKey&) const = default;
};
/// Returns the ranking key of a trial with at least one measurement, from its selected epoch.
RankingKey standing(const StudyConfig& config, const TrialView& trial);

/// True if the trial may be ranked: it succeeded or was stopped early, and has a measurement.
bool ranks(const TrialView& trial, const Outcome& outcome);

/// Returns the trainings with the decisions of `trial`, itself included, by rising number. The pointers belong to
/// `view`. It is the trial alone if trainings_per_proposal() is 1, even if failed trainings are repeated.
std::vector<const TrialView*> trainings_of(const StudyView& view, const TrialView& trial);
/// Returns the trials that predict together as `named`. Their weights are kept together. It is `named` alone; with
/// data.folds, the trainings of its proposal that may be ranked, `named` first.
std::vector<const TrialView*> fold_models_of(const StudyView& view, const TrialView& named);
/// Returns the selected measurement of each training that may be ranked, as of the last epoch that all of them have
/// measured. In the order of `trainings`. Empty: there is no such epoch.
std::vector<Measurement> joint_results(const StudyConfig& config, const std::vector<const TrialView*>& trainings);
/// Returns the ranking key of the trainings of a proposal together: the average of joint_results, under the number of
/// the best training. If only one may be ranked, it is that one's own key. nullopt: trainings are not done,
/// joint_outcome is neither kSucceeded nor kStopped, or they have no common epoch.
std::optional<RankingKey> joint_ranking_key(const StudyConfig& config, const std::vector<const TrialView*>& trainings);
/// Returns the number of these trainings by outcome; trainings without an outcome count as proposed only.
TrainingCounts training_counts_of(const std::vector<const TrialView*>& trainings);

/// Returns the lineage of a trial up to the end of epoch `epochs`, the first segment first. Without forks it is one
/// segment of the trial itself; it is empty for 0 epochs. Replaying it in order gives the trial, bit for bit.
std::vector<LineageSegment> lineage(const StudyView& view, const TrialView& trial, std::int64_t epochs);

/// Returns the trials that may be ranked (ranks()) from best to worst by RankingKey. With several trainings a proposal,
/// it ranks proposals by joint_ranking_key, each under the number of its best training.
std::vector<TrialId> ranking(const StudyView& view);
/// Returns the ranking keys of the trials of ranking(), in the same order: from best to worst.
std::vector<RankingKey> ranking_keys(const StudyView& view);
/// Returns the trials of `ranked` that no other dominates (constrained domination), in their order. Trials that violate
/// constraints are among them only if no trial satisfies all; then they are those with the smallest violation.
std::vector<TrialId> pareto_front(const std::vector<RankingKey>& ranked);

}  // namespace lanista::study
