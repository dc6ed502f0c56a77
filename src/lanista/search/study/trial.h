#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include "lanista/base/digest.h"
#include "lanista/base/id.h"
#include "lanista/base/result.h"
#include "lanista/model/graph/editor.h"
#include "lanista/model/space/chooser.h"
#include "lanista/model/space/domain.h"

namespace lanista::study {

/// A trial's state at its beginning: what another trial's was, where that is not random values. The child is a trial of
/// its own: epochs, data order and schedule count from its beginning, and its seeds are its own.
struct Start {
  TrialId parent;
  std::int64_t epoch = 0;  ///< measured last by the parent when the state was kept
  std::string plan;        ///< how its weights become the child's; empty: the same structure, every weight as it is
  std::string address;  ///< of the parent's state; the engine's, which finds it in logical order; empty: none is kept
  bool is_chosen_by_engine =
      false;            ///< by the engine, as train.start asks: it follows from the study, and is nobody's decision
  double coverage = 1;  ///< share of the child's parameters and buffers that come of the parent's
  std::string inexact_reason =
      {};  ///< where and why the first value is not the parent's; empty: the same function, or no plan

  std::string zoo = {};  ///< id of the zoo's model that it is; empty: none of a zoo
  /// What becomes of the parent's slots and steps of its optimiser: kOptimizerCarried, or why nothing does; empty:
  /// nobody asked for them (train.start_optimizer).
  std::string optimizer = {};

  /// No other trial of the study: the weights of the file that train.start names, as of the beginning.
  bool is_file() const { return parent.value == 0 && zoo.empty(); }
  /// Of whoever proposes: the same start, whether its state is found as yet or not.
  bool is_same_start(const Start& other) const {
    return parent == other.parent && epoch == other.epoch && plan == other.plan;
  }
  bool operator==(const Start&) const = default;
};
inline constexpr std::string_view kOptimizerCarried = "carried";
/// "trial 3 as of epoch 2", or "the file"
std::string start_text(const Start& start);
/// "trial 3 as of epoch 2: 87 % of its weights, the same function", of one that the engine chose; of any other
/// start_text.
std::string inherited_text(const Start& start);
nlohmann::json start_json(const Start& start);
/// Errors: kDataLoss.
Result<Start> start_from_json(const nlohmann::json& json);

/// What a start has to be better than before it is taken (train.start_race): other parents, and behind them, always,
/// random values. Which of them the trial went on from is told with its first measurement.
struct StartRace {
  std::int64_t steps = 0;          ///< of training that each of them gets
  double time = 0;                 ///< logical, that the steps take of those that are given up
  std::vector<Start> rivals = {};  ///< other parents, those that give more first
  /// That race: the start itself, the rivals, random values.
  std::int64_t racers() const { return static_cast<std::int64_t>(rivals.size()) + 2; }
  bool operator==(const StartRace&) const = default;
};
nlohmann::json start_race_json(const StartRace& race);
/// Errors: kDataLoss.
Result<StartRace> start_race_from_json(const nlohmann::json& json);

/// From here on a trial goes on from what another one was: its whole state (parameters, buffers, slots of the
/// optimiser, counters, place in the data), with hyper-parameters of its own. It stays one trial, with its own name,
/// seed and measurements: those before the fork are of what it was.
struct Fork {
  TrialId from;
  std::int64_t epoch = 0;  ///< measured last by both
  space::Sample sample;    ///< the trial's hyper-parameters from here on, all of them
  std::string address;     ///< of the state; the engine's, which finds it in logical order

  bool operator==(const Fork&) const = default;
};
nlohmann::json fork_json(const Fork& fork);
/// Errors: kDataLoss.
Result<Fork> fork_from_json(const nlohmann::json& json);

/// A trial is decisions: replaying them gives the graph, bit for bit.
struct Proposal {
  std::int64_t base = 0;  ///< index into the study's base models
  Digest base_hash;
  std::vector<space::MutationStep> steps;
  std::vector<graph::Edit> edits;  ///< what the steps did; old studies open after a mutator changes
  Digest graph_hash;
  space::Sample sample;
  std::int64_t budget = 0;        ///< epochs that it trains, or trains at first
  std::int64_t horizon = 0;       ///< epochs that its schedule is made for, if not its budget: it may go on to them
  std::optional<TrialId> parent;  ///< whose decisions it was made from
  std::int64_t repeat = 0;        ///< which training of these decisions, each with its own seed
  /// With data.folds: which fold the training validates on, dealing after dealing (dealing x folds + fold). A failed
  /// training that is done again has the same one.
  std::optional<std::int64_t> fold = {};
  std::optional<Start> start;          ///< absent: random values
  double select_time = 0;              ///< logical, that each check of train.select takes; 0: it has none
  std::optional<StartRace> race = {};  ///< beside `start`, which the engine chose; absent: it is taken as it is
  /// A final: `parent`, a trial of the search, once more from the beginning, tuning itself (strategy.then).
  bool is_refinement = false;
};

/// The start that is one of the proposal's decisions, or null.
inline const Start* proposed_start(const Proposal& proposal) {
  return proposal.start && !proposal.start->is_chosen_by_engine ? &*proposal.start : nullptr;
}

/// The epochs of its schedule: what a trial trains that nothing ends early. Its budget says only how far it trains now.
inline std::int64_t full_epochs(const Proposal& proposal) {
  return proposal.horizon > 0 ? proposal.horizon : proposal.budget;
}

/// Equal for trainings of the same decisions, with whatever seeds and folds: graph, sample, epochs of the schedule,
/// start, and whether it is a final. A start is its parent, epoch and plan: where its state was found follows from
/// them. One that the engine chose counts for nothing.
Digest decisions_key(const Proposal& proposal);
/// Equal for trials that do the same as far as both go: the decisions and which training of them it is. Of two budgets
/// under one horizon the larger is the same trial trained further.
Digest run_key(const Proposal& proposal);

/// A short training of a trial's state under another setting, for the trial to learn how it should go on (train.tune).
/// It is no trial.
struct Branch {
  std::int64_t step = 0;   ///< of the trial when it was made
  space::Sample setting;   ///< what it trained with; empty: what updates nothing, for the loss at the start
  std::int64_t steps = 0;  ///< that it was trained
  std::string trend;       ///< "converging", "unstable" or "diverged"; "start" of the one that updates nothing
  double speed = 0;        ///< by which its loss fell, a step; of "start": that loss
  bool kept = false;       ///< the trial went on from it
  bool operator==(const Branch&) const = default;
};

/// One that raced for a trial's beginning.
struct StartCandidate {
  std::int64_t steps = 0;  ///< that it was trained
  double loss = 0;         ///< mean over the later half of them; infinite: it came to no number
  bool kept = false;       ///< the trial went on from it
  bool operator==(const StartCandidate&) const = default;
};

/// A short training of a trial's state on chosen rows or on all, for the trial to learn what is worth more of the same
/// computation (train.select: auto). It is no trial.
struct SelectBranch {
  std::int64_t step = 0;  ///< of the trial when it was made
  bool selects = false;
  std::int64_t steps = 0;  ///< that it was trained, as a trial's: batches read
  double cost = 0;         ///< of its passes, in steps that train on all they read
  std::string metric;      ///< measured at its end, on the validation part
  double value = 0;        ///< of that; NaN: none, or it failed
  bool kept = false;       ///< the trial went on from it
  bool operator==(const SelectBranch&) const = default;
};

/// What a trial measured at the end of an epoch. NaN and infinities are data.
struct Measurement {
  TrialId trial;
  std::int64_t epoch = 0;                 ///< 1-based; strictly increasing in a trial
  std::int64_t step = 0;                  ///< training steps so far
  std::map<std::string, double> metrics;  ///< train_loss, val_loss, val_accuracy, …
  std::vector<Branch> branches =
      {};  ///< that the trial tried before the epoch, in their order; none: it did not search
  std::vector<StartCandidate> race =
      {};  ///< of its beginning, told with the first epoch: the start, the rivals, random values
  std::vector<SelectBranch> selecting =
      {};  ///< by which it learned, before the epoch, whether to select; none: it did not ask
};

enum class OutcomeKind {
  kSucceeded,     ///< trained to its budget
  kStopped,       ///< ended early by its halving, or never gone on after a pause; what it stands for counts
  kFailed,        ///< diverged, out of memory, an exception, a crash: data like any other
  kCancelled,     ///< ended by the user
  kDuplicate,     ///< equal to an earlier trial, whose result it takes
  kPrunedByRule,  ///< not trained, or no further: a rule of the study says of another trial's result what it would give
};
std::string_view outcome_name(OutcomeKind kind);

struct Outcome {
  OutcomeKind kind = OutcomeKind::kSucceeded;
  std::string reason;                     ///< "diverged: train_loss is nan at epoch 2", or empty
  std::optional<TrialId> same_as;         ///< kDuplicate
  std::string weights;                    ///< content address of the final weights; empty if none were kept
  std::optional<Digest> weights_hash;     ///< of the final state's bytes, kept or not
  std::optional<TrialId> pruned_by = {};  ///< whose result ended it by a rule
  std::string rule = {};                  ///< which (implied.h): "diverged along lr up"
};

// What a strategy sees, in logical order.
struct Proposed {
  TrialId trial;
  Proposal proposal;
};
struct Measured {
  Measurement measurement;
};
struct Ended {
  TrialId trial;
  Outcome outcome;
};
/// It gave its slot back and waits, in the checkpoint store, to be resumed.
struct Paused {
  TrialId trial;
  std::int64_t epoch = 0;  ///< measured last
};
/// It trains again, through the epoch `budget`.
struct Resumed {
  TrialId trial;
  std::int64_t epoch = 0;  ///< measured last
  std::int64_t budget = 0;
  std::optional<Fork> fork = {};  ///< absent: from its own state, as it was
};
using Event = std::variant<Proposed, Measured, Ended, Paused, Resumed>;

enum class Verdict { kContinue, kPause, kStop };
std::string_view verdict_name(Verdict verdict);
/// Errors: kDataLoss.
Result<Verdict> verdict_from_name(std::string_view name);

nlohmann::json proposal_json(const Proposal& proposal);
Result<Proposal> proposal_from_json(const nlohmann::json& json);
/// Numbers that JSON cannot hold are the texts "nan", "inf", "-inf".
nlohmann::json measurement_json(const Measurement& measurement);
Result<Measurement> measurement_from_json(const nlohmann::json& json);
nlohmann::json branch_json(const Branch& branch);
Result<Branch> branch_from_json(const nlohmann::json& json);
nlohmann::json start_candidate_json(const StartCandidate& start_candidate);
Result<StartCandidate> start_candidate_from_json(const nlohmann::json& json);
nlohmann::json select_branch_json(const SelectBranch& branch);
Result<SelectBranch> select_branch_from_json(const nlohmann::json& json);
nlohmann::json outcome_json(const Outcome& outcome);
Result<Outcome> outcome_from_json(const nlohmann::json& json);

}  // namespace lanista::study
