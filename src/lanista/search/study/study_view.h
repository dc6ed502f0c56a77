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

/// One trial as the log tells it.
struct TrialView {
  TrialId id;
  Proposal proposal;                      ///< after a fork with the hyper-parameters that it has now; see begun
  std::vector<Measurement> measurements;  ///< delivered, in order
  std::optional<Outcome> outcome;         ///< absent: running
  double logical_start = 0;
  std::int64_t parameters = 0;
  std::string device = {};  ///< that trains it from its beginning to its end; empty: the study has one for all
  bool paused = false;      ///< no outcome and no slot: it waits to be resumed
  std::int64_t budget = 0;  ///< epochs that it is to train now; a resumption raises it
  /// Where it is to rest before the end of its schedule: every budget that it was given so far. Of trials that begin
  /// with all of it empty.
  std::vector<std::int64_t> rungs = {};
  /// Where it went on from another trial's state, in order, and what it began with, if it ever did.
  std::vector<Fork> forks = {};
  space::Sample first_sample = {};

  /// As it was proposed. Its keys (run_key, decisions_key) are of this.
  Proposal begun() const;
  /// The hyper-parameters that it trained the epoch with, 1-based.
  const space::Sample& sample_at(std::int64_t epoch) const;
};

/// A stretch of training behind a trial's weights: so many epochs as one trial, with its seed and hyper-parameters.
struct LineageSegment {
  TrialId trial;
  std::int64_t from = 0, through = 0;  ///< epochs from + 1 … through
  space::Sample sample;
};

/// A worker's work on one epoch of a trial, or the part of it before a pause. Seconds are worked seconds of the study:
/// time between attempts does not count.
struct Span {
  TrialId trial;
  std::int64_t epoch = 0;
  std::int64_t worker = 0;
  double began = 0, ended = 0;
  std::int64_t lanes = 1;   ///< trials that were trained in the same go, this one included
  std::int64_t width = 1;   ///< workers that began it together
  SpanCosts costs = {};     ///< what the seconds went into
  std::size_t host = 0;     ///< where its worker was: a number of WorkerHistory::hosts, from 1; 0: nobody said
  std::string device = {};  ///< that computed it; empty: the study has one for all
  /// A step of the trial's program in stages (run.pipeline) as it was, where one was timed during it; or null.
  std::shared_ptr<const pipeline::TimedStep> timed = {};
};

/// What became of worker processes. Of a study whose workers are threads there is nothing to tell. Hosts are told of
/// where workers are begun elsewhere (engine/elsewhere.h), and empty otherwise.
struct WorkerHistory {
  struct Present {
    std::int64_t worker = 0;   ///< number
    std::int64_t process = 0;  ///< as its machine counts them
    std::string host = {};     ///< that it runs on
  };
  struct Lost {
    std::int64_t worker = 0, process = 0;
    std::string reason;
    std::int64_t trials = 0;  ///< that went on elsewhere
    double seconds = 0;       ///< of work, that one of them lost at most
    std::string host = {};    ///< that it ran on
  };
  struct Host {
    std::string name;
    std::int64_t lost = 0;  ///< workers
  };
  /// A trial was lost with a worker of a host, and goes on from its last checkpoint.
  struct Move {
    TrialId trial;
    std::int64_t from = 0;  ///< worker
    std::string from_host;
    std::optional<std::int64_t> to = {};  ///< the worker that told of it next; absent: none did
    std::string to_host = {};             ///< empty: of that one nobody said where it runs
    double seconds = 0;                   ///< of work, that it lost at most
  };
  std::vector<Present> present;  ///< by number
  std::int64_t lost = 0;         ///< in all
  double lost_seconds = 0;       ///< the most that a trial lost at a time
  std::optional<Lost> last;
  std::vector<Host> hosts = {};  ///< in the order in which they were first told of
  std::vector<Move> moves = {};  ///< in the order of losses
};

/// The model that all trials begin with, as far as they can (train.start: file). Its weights lie with the checkpoints.
struct StartFile {
  std::string name;                      ///< as the study file has it
  std::string address;                   ///< of the weights
  std::string graph;                     ///< text form
  std::vector<std::string> labels = {};  ///< of its classes; empty: not known
};

/// A study as its records tell it: a fold, the same whether records come from a running engine or from the disk.
struct StudyView {
  StudyConfig config;
  std::string config_text;                     ///< the resolved study file
  nlohmann::json data;                         ///< facts of the data set, as in its specification
  nlohmann::json models;                       ///< base models: [{"name", "graph" (text form)}]
  std::string frozen;                          ///< address of the frozen part's weights; empty: all is trained
  std::optional<StartFile> start_file;         ///< absent: trials begin otherwise
  std::optional<ZooSnapshot> zoo;              ///< absent: trials take nothing of a zoo
  std::map<std::string, ZooModel> zoo_models;  ///< by id: those that trials began with
  std::vector<Baseline> baselines;             ///< what a search has to beat; empty in studies of builds before
  std::optional<Earlier> earlier;              ///< what it took over of another study when it began
  nlohmann::json numerics;                     ///< what the bits depend on, as last recorded
  std::vector<TrialView> trials;               ///< index = id - 1
  std::vector<Span> spans;                     ///< in the order of the log
  WorkerHistory workers;
  std::optional<std::string> end_reason;  ///< set when the study has ended
  std::optional<TrialId> winner;
  std::map<std::string, double> test;  ///< of the winner
  std::optional<Ensemble> ensemble;    ///< what is in best/, where that is more than the winner
  std::int64_t steps = 0;              ///< delivered training steps
  double began = 0;                    ///< Unix seconds of the first attempt
  double seconds = 0;                  ///< worked, over all attempts
};

/// The base model a trial began from, and the trial's own model: the base with the recorded edits. Both come from the
/// log alone. Errors: kDataLoss (a base or an edit that cannot be).
Result<graph::Graph> base_model(const StudyView& view, const TrialView& trial);
Result<graph::Graph> trial_model(const StudyView& view, const TrialView& trial, const graph::OpTable& ops);

/// Which of a trial's measurements it stands for, as its study's train.keep and train.ties say.
EpochSelector epoch_selector_of(const StudyConfig& config, const TrialView& trial);
/// The result of a trial that has measured something: what it stands for, so far or in the end; of one that failed or
/// was cancelled, the last that it measured.
const Measurement& result_of(const StudyConfig& config, const TrialView& trial);

/// What a finished trial is compared by; smaller is better. Goals count in their order: the next one decides only where
/// those before are equal.
struct RankingKey {
  double violation = 0;  ///< of the constraints; what keeps to them goes first
  std::vector<std::pair<bool, double>> losses =
      {};                            ///< one a goal; {true, 0} for a missing or not-a-number metric: worst
  std::pair<bool, double> tie = {};  ///< the same of what decides where goals are equal (tie_breaking_goal)
  std::int64_t parameters = 0;
  TrialId trial = {};
  auto operator<=>(const RankingKey&) const = default;
};
RankingKey standing(const StudyConfig& config, const TrialView& trial);

/// Whether a trial may be ranked: it succeeded or was stopped early, and has measured something.
bool ranks(const TrialView& trial, const Outcome& outcome);

/// The trials that train the same decisions as `trial`, itself included, in their order. With one
/// training a proposal (trainings_per_proposal) the trial alone.
std::vector<const TrialView*> trainings_of(const StudyView& view, const TrialView& trial);
/// The trials that predict together in the name of `named`, and whose weights are kept together: itself, or with
/// data.folds the trainings of its proposal that may be ranked, itself first.
std::vector<const TrialView*> fold_models_of(const StudyView& view, const TrialView& named);
/// What the trainings of a proposal stood for, together, as of the last epoch that all of them measured; empty: there
/// is no such epoch. In the order of `trainings`, of those that may be ranked.
std::vector<Measurement> joint_results(const StudyConfig& config, const std::vector<const TrialView*>& trainings);
/// What the trainings of a proposal are compared by, together: averages of their joint_results, in the name of the best
/// of them. nullopt: they are not done, or nothing came of them that can be compared.
std::optional<RankingKey> joint_ranking_key(const StudyConfig& config, const std::vector<const TrialView*>& trainings);
TrainingCounts training_counts_of(const std::vector<const TrialView*>& trainings);

/// What made a trial what it is after its first `epochs` epochs, from the beginning on: of one that never forked,
/// itself. Replayed in this order it is the trial, bit for bit.
std::vector<LineageSegment> lineage(const StudyView& view, const TrialView& trial, std::int64_t epochs);

/// Finished trials from best to worst by constraints and goals of their results; ties by train.ties, then by fewer
/// parameters, then by id. Failed ones are left out. With several trainings a proposal, proposals by the averages of
/// their trainings, each in the name of its best training.
std::vector<TrialId> ranking(const StudyView& view);
/// What ranking() compares, from best to worst.
std::vector<RankingKey> ranking_keys(const StudyView& view);
/// Those of `ranked` that no other dominates (constrained domination), in their order; of what breaks a constraint only
/// where nothing keeps to them all.
std::vector<TrialId> pareto_front(const std::vector<RankingKey>& ranked);

}  // namespace lanista::study
