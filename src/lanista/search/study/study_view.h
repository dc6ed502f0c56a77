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

/// One trial, read from the log.
struct TrialView {
  TrialId id;
  Proposal proposal;  ///< Its decisions; after a fork with the current hyper-parameters (see begun).
  std::vector<Measurement> measurements;  ///< Delivered measurements, in order.
  std::optional<Outcome> outcome;         ///< Absent: the trial has not ended.
  double logical_start = 0;               ///< Logical time of its start.
  std::int64_t parameters = 0;            ///< Parameters of its model.
  std::string device = {};                ///< Device of the whole trial; empty: all trials have one device.
  bool paused = false;                    ///< No outcome and no slot; it waits to be resumed.
  std::int64_t budget = 0;                ///< Epoch to which it may train now; a resumption raises it.
  /// Every budget below the full schedule that the trial has had so far. Empty for a trial that began with its full
  /// budget.
  std::vector<std::int64_t> rungs = {};
  /// Forks of the trial in order, and the hyper-parameters from before the first one.
  std::vector<Fork> forks = {};
  space::Sample first_sample = {};

  /// Returns the proposal as it was made. Its keys are run_key and decisions_key of the trial.
  Proposal begun() const;
  /// Returns the hyper-parameters with which the trial trained `epoch`, counted from 1.
  const space::Sample& sample_at(std::int64_t epoch) const;
};

/// A stretch of training in the lineage of a trial: some epochs of one trial, with one seed and sample.
struct LineageSegment {
  TrialId trial;
  std::int64_t from = 0, through = 0;  ///< epochs from + 1 … through
  space::Sample sample;
};

/// The work of one worker on one epoch of a trial, or on the part of it before a pause. Seconds are worked seconds of
/// the study: time between attempts does not count.
struct Span {
  TrialId trial;
  std::int64_t epoch = 0;
  std::int64_t worker = 0;
  double began = 0, ended = 0;
  std::int64_t lanes = 1;   ///< Trials that were trained together, this one included.
  std::int64_t width = 1;   ///< Workers that began it together.
  SpanCosts costs = {};     ///< Parts of its seconds.
  std::size_t host = 0;     ///< Host of the worker: index + 1 into WorkerHistory::hosts; 0: not recorded.
  std::string device = {};  ///< Device of the step; empty: all trials have one device.
  /// A timed step of the trial's program in pipeline stages (run.pipeline), if one was timed in this span; else null.
  std::shared_ptr<const pipeline::TimedStep> timed = {};
};

/// History of the worker processes of a study. It is empty for workers that are threads. Hosts are recorded only for
/// remote workers.
struct WorkerHistory {
  /// A connected worker process.
  struct Present {
    std::int64_t worker = 0;   ///< worker number
    std::int64_t process = 0;  ///< process id on its machine
    std::string host = {};     ///< host
  };
  /// A worker process that was lost.
  struct Lost {
    std::int64_t worker = 0, process = 0;
    std::string reason;
    std::int64_t trials = 0;  ///< trials that resumed on other workers
    double seconds = 0;       ///< most work, in seconds, that one of them lost
    std::string host = {};    ///< host
  };
  /// A host with remote workers.
  struct Host {
    std::string name;
    std::int64_t lost = 0;  ///< lost workers
  };
  /// A trial that was lost with its worker and resumes from its last checkpoint.
  struct Move {
    TrialId trial;
    std::int64_t from = 0;  ///< number of the lost worker
    std::string from_host;
    std::optional<std::int64_t> to = {};  ///< Number of the next worker that reported on it; absent: none did.
    std::string to_host = {};             ///< Host of that worker; empty: not recorded.
    double seconds = 0;                   ///< Most work that it lost, in seconds.
  };
  std::vector<Present> present;  ///< connected workers by number
  std::int64_t lost = 0;         ///< lost workers in all
  double lost_seconds = 0;       ///< most seconds of work that a trial lost at once
  std::optional<Lost> last;
  std::vector<Host> hosts = {};  ///< hosts in the order of their first record
  std::vector<Move> moves = {};  ///< moves in the order of the losses
};

/// The model with which trials begin as far as their structure allows (train.start: file). Its weights are in the
/// checkpoint store.
struct StartFile {
  std::string name;                      ///< name in the study file
  std::string address;                   ///< content address of the weights
  std::string graph;                     ///< text form of the graph
  std::vector<std::string> labels = {};  ///< names of its classes; empty: not known
};

/// The state of a study, computed from its records. Records of a running engine and of a log on disk give the same
/// state.
struct StudyView {
  StudyConfig config;
  std::string config_text;                     ///< The resolved study file.
  nlohmann::json data;                         ///< Facts of the data set, from its specification.
  nlohmann::json models;                       ///< Base models: [{"name", "graph" (text form)}].
  std::string frozen;                          ///< Content address of the frozen weights; empty: all is trained.
  std::optional<StartFile> start_file;         ///< Absent: no train.start: file.
  std::optional<ZooSnapshot> zoo;              ///< Absent: no zoo.
  std::map<std::string, ZooModel> zoo_models;  ///< Zoo models by id with which trials began.
  std::vector<Baseline> baselines;             ///< What a search has to beat; empty in old studies.
  std::optional<Earlier> earlier;              ///< Trials of an earlier study; absent: none.
  nlohmann::json numerics;                     ///< Facts on which the bits depend, as last recorded.
  std::vector<TrialView> trials;               ///< Index = id - 1.
  std::vector<Span> spans;                     ///< In the order of the log.
  WorkerHistory workers;
  std::optional<std::string> end_reason;  ///< Set when the study has ended.
  std::optional<TrialId> winner;          ///< Best trial of the finished study.
  std::map<std::string, double> test;     ///< Test metrics of the winner.
  std::optional<Ensemble> ensemble;       ///< Ensemble in best/; absent: the winner alone.
  std::int64_t steps = 0;                 ///< Delivered training steps.
  double began = 0;                       ///< Unix seconds of the first attempt.
  double seconds = 0;                     ///< Worked seconds over all attempts.
};

/// Returns the base model of a trial, from the log alone. Errors: kDataLoss (invalid base model).
Result<graph::Graph> base_model(const StudyView& view, const TrialView& trial);
/// Returns the model of a trial: its base model with its recorded edits. Errors: kDataLoss (invalid base model or
/// edit).
Result<graph::Graph> trial_model(const StudyView& view, const TrialView& trial, const graph::OpTable& ops);

/// Returns the epoch selector of a trial by train.keep and train.ties.
EpochSelector epoch_selector_of(const StudyConfig& config, const TrialView& trial);
/// Returns the result of a trial with at least one measurement: that of the selected epoch. For a failed, cancelled or
/// pruned trial it is the last measurement.
const Measurement& result_of(const StudyConfig& config, const TrialView& trial);

/// The key by which finished trials are compared; smaller is better. Members count in their order: the next one decides
/// only if those before are equal.
struct RankingKey {
  double violation = 0;  ///< Violation of the constraints.
  /// One for each goal. NaN or a missing metric is {true, 0}, the worst value.
  std::vector<std::pair<bool, double>> losses = {};
  std::pair<bool, double> tie = {};  ///< The same for the goal that breaks ties (tie_breaking_goal).
  std::int64_t parameters = 0;       ///< Parameters of the model.
  TrialId trial = {};
  auto operator<=>(const RankingKey&) const = default;
};
/// Returns the ranking key of a trial with at least one measurement, from its selected epoch.
RankingKey standing(const StudyConfig& config, const TrialView& trial);

/// True if the trial may be ranked: it succeeded or was stopped early, and has a measurement.
bool ranks(const TrialView& trial, const Outcome& outcome);

/// Returns the trainings with the decisions of `trial`, itself included, in order. With one training a proposal it is
/// the trial alone.
std::vector<const TrialView*> trainings_of(const StudyView& view, const TrialView& trial);
/// Returns the trials that predict together under the name of `named`, and have their weights kept together. It is
/// `named` alone; with data.folds, the trainings of its proposal that may be ranked, `named` first.
std::vector<const TrialView*> fold_models_of(const StudyView& view, const TrialView& named);
/// Returns the selected measurement of each training that may be ranked, as of the last epoch that all of them have
/// measured. In the order of `trainings`. Empty: there is no such epoch.
std::vector<Measurement> joint_results(const StudyConfig& config, const std::vector<const TrialView*>& trainings);
/// Returns the ranking key of the trainings of a proposal together: the average of joint_results, under the number of
/// the best training. nullopt: they have not ended, or have no result to compare.
std::optional<RankingKey> joint_ranking_key(const StudyConfig& config, const std::vector<const TrialView*>& trainings);
/// Returns the number of trainings by outcome.
TrainingCounts training_counts_of(const std::vector<const TrialView*>& trainings);

/// Returns the lineage of a trial up to epoch `epochs`, from the beginning. Without forks it is the trial alone.
/// Replaying it in order gives the trial, bit for bit.
std::vector<LineageSegment> lineage(const StudyView& view, const TrialView& trial, std::int64_t epochs);

/// Returns the finished trials from best to worst by RankingKey. Failed trials are left out. With several trainings a
/// proposal, it ranks proposals by joint_ranking_key.
std::vector<TrialId> ranking(const StudyView& view);
/// Returns the keys that ranking() compares, from best to worst.
std::vector<RankingKey> ranking_keys(const StudyView& view);
/// Returns the trials of `ranked` that no other dominates (constrained domination), in their order. Trials that violate
/// constraints are among them only if no trial satisfies all.
std::vector<TrialId> pareto_front(const std::vector<RankingKey>& ranked);

}  // namespace lanista::study
