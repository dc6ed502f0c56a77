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

/// The weights with which a trial begins: those of another trial, of a file or of a zoo model.
///
/// The child is a trial of its own: its epochs, data order and learning-rate schedule count from its beginning, and it
/// has its own seeds.
struct Start {
  TrialId parent;          ///< Trial with these weights; 0: a file or a zoo model.
  std::int64_t epoch = 0;  ///< Epoch of the parent, from 1, after which the state was taken; 0: a file or a zoo model.
  std::string plan;        ///< Transfer plan in its text form; empty: equal structure, every weight is copied.
  std::string address;     ///< Content address of the parent's state, which the engine fills in; empty: none is stored.
  bool is_chosen_by_engine = false;  ///< True: the engine chose it by train.start. False: the strategy chose it.
  double coverage = 1;               ///< Share of the child's parameters and buffers that come from the parent, 0 to 1.
  std::string inexact_reason = {};   ///< Where and why the child computes another function; empty: an equal function.

  std::string zoo = {};  ///< Id of the zoo model; empty: no zoo model.
  /// Transfer of the optimiser state: kOptimizerCarried, or the reason why it is not transferred. Empty: it was not
  /// requested (train.start_optimizer).
  std::string optimizer = {};

  /// True if the weights are those of the file that train.start_from names.
  bool is_file() const { return parent.value == 0 && zoo.empty(); }
  /// True if `other` has the same parent, epoch and plan. Other fields, such as the address and `zoo`, do not count.
  bool is_same_start(const Start& other) const {
    return parent == other.parent && epoch == other.epoch && plan == other.plan;
  }
  bool operator==(const Start&) const = default;
};
/// Value of Start::optimizer if the optimiser state of the parent was transferred.
inline constexpr std::string_view kOptimizerCarried = "carried";
/// Returns the origin of a start as text: "trial 3 as of epoch 2", "the zoo's model ID" or "the file".
std::string start_text(const Start& start);
/// Returns start_text with `coverage`, rounded down: "trial 3 as of epoch 2: 87 % of its weights, the same function".
/// For another function the text has inexact_reason, and after it the fate of the optimiser state, if requested. For a
/// start that the engine did not choose, it returns start_text alone.
std::string inherited_text(const Start& start);
/// Returns a start as a JSON record: "parent" (0: none), "epoch", "plan" and "address". If the engine chose it, also
/// "chosen", "coverage", "lost" (inexact_reason), "zoo" and "optimizer"; empty texts are left out.
nlohmann::json start_json(const Start& start);
/// Reads the record of a start. Errors: kDataLoss (a field is missing or invalid).
Result<Start> start_from_json(const nlohmann::json& json);

/// A start race (train.start_race): short trainings from the start, from each rival parent, and one from random values.
///
/// The candidate with the lowest loss continues. The first measurement of the trial records the losses.
struct StartRace {
  std::int64_t steps = 0;          ///< Training steps of each candidate.
  double time = 0;                 ///< Time of the discarded steps on the logical clock.
  std::vector<Start> rivals = {};  ///< Other parents, the one with the highest coverage first.
  /// Returns the number of candidates: the start, each rival, and one with random values.
  std::int64_t racers() const { return static_cast<std::int64_t>(rivals.size()) + 2; }
  bool operator==(const StartRace&) const = default;
};
/// Returns a start race as a JSON record: "steps", "time" and "rivals".
nlohmann::json start_race_json(const StartRace& race);
/// Reads the record of a start race. Errors: kDataLoss (a field is missing or invalid).
Result<StartRace> start_race_from_json(const nlohmann::json& json);

/// A fork: from here on a trial continues from the whole state of another trial, with new hyper-parameters.
///
/// The state is the parameters, buffers, optimiser state, counters and position in the data. The trial keeps its
/// number, its seed and the measurements from before the fork.
struct Fork {
  TrialId from;            ///< Trial with the state from which this trial continues.
  std::int64_t epoch = 0;  ///< Last epoch that both trials have measured.
  space::Sample sample;    ///< All hyper-parameters of the trial after the fork.
  std::string address;     ///< Content address of the state, which the engine fills in.

  bool operator==(const Fork&) const = default;
};
/// Returns a fork as a JSON record: "from", "epoch", "sample" and "address".
nlohmann::json fork_json(const Fork& fork);
/// Reads the record of a fork. Errors: kDataLoss (a field is missing or invalid).
Result<Fork> fork_from_json(const nlohmann::json& json);

/// The decisions of the strategy on a trial, and those that the engine added (start, race). Replaying them gives the
/// model, bit for bit.
struct Proposal {
  std::int64_t base = 0;                   ///< Index into the study's base models, from 0.
  Digest base_hash;                        ///< Graph hash of the base model.
  std::vector<space::MutationStep> steps;  ///< Mutations of the base model, with their traces.
  std::vector<graph::Edit> edits;  ///< Edits that the mutations made; a log stays readable after a mutator changes.
  Digest graph_hash;               ///< Graph hash of the trial's model.
  space::Sample sample;            ///< Hyper-parameter sample.
  std::int64_t budget = 0;         ///< Epochs to train; if `horizon` is set, epochs to train before the first pause.
  std::int64_t horizon = 0;        ///< Epochs of the learning-rate schedule; 0: equal to `budget`.
  std::optional<TrialId> parent;   ///< Trial from which the decisions were derived; absent: none.
  std::int64_t repeat = 0;         ///< Number of this training of the decisions, from 0; each has its own seed.
  /// Fold that the training validates on: assignment * folds + fold. A retry of a failed training has the same fold.
  /// Absent: the study has no folds.
  std::optional<std::int64_t> fold = {};
  std::optional<Start> start;  ///< Weights to begin with; absent: random values.
  /// Time of each selection comparison on the logical clock, in studies of version 0.1.0; 0: none.
  double select_time = 0;
  std::optional<StartRace> race = {};  ///< Race of `start`, which the engine chose; absent: no race.
  /// True for a refinement: the trial trains the decisions of `parent` again from the start and tunes itself
  /// (strategy.then).
  bool is_refinement = false;
};

/// Returns the start in `proposal` if the strategy chose it; null if the engine chose it or there is none.
inline const Start* proposed_start(const Proposal& proposal) {
  return proposal.start && !proposal.start->is_chosen_by_engine ? &*proposal.start : nullptr;
}

/// Returns the epochs of the learning-rate schedule: the length of a trial that is never stopped early.
inline std::int64_t full_epochs(const Proposal& proposal) {
  return proposal.horizon > 0 ? proposal.horizon : proposal.budget;
}

/// Returns a hash that is equal for trainings of the same decisions with different seeds and folds.
///
/// It covers the graph, the sample without its model choices, the epochs of the schedule, the start (parent, epoch,
/// plan) and whether the trial is a refinement. A start that the engine chose does not count.
Digest decisions_key(const Proposal& proposal);
/// Returns a hash that is equal for trials with equal numbers: that of the decisions and of `repeat`.
///
/// Two budgets under one horizon give the same hash: the larger one is the same trial trained further.
Digest run_key(const Proposal& proposal);

/// A short training of a copy of a trial's state under another setting, made by a tune search (train.tune). It also
/// records a change of an adaptive batch: then `steps` is 0, and `trend` is kAdapted.
struct Branch {
  std::int64_t step = 0;   ///< Step of the trial at which the branch was made.
  space::Sample setting;   ///< Setting of the branch; empty: it updates nothing and measures the loss at the start.
  std::int64_t steps = 0;  ///< Training steps of the branch.
  /// "converging", "unstable" or "diverged"; "start" for the branch that updates nothing; kAdapted for a batch change.
  std::string trend;
  /// Mean fall of the loss per step, larger is better. For "start" it is the loss, and for kAdapted the goodput gain.
  double speed = 0;
  bool kept = false;  ///< The trial continued from this branch.
  bool operator==(const Branch&) const = default;
};

/// Result of one candidate of a start race.
struct StartCandidate {
  std::int64_t steps = 0;  ///< Number of training steps of the branch.
  double loss = 0;         ///< Mean loss over the later half of the steps; infinite: diverged.
  bool kept = false;       ///< The trial continued from this candidate.
  bool operator==(const StartCandidate&) const = default;
};

/// One branch of a selection comparison (train.select: auto): a short training on selected rows or on all rows.
///
/// The trial continues with whichever of the two is better at equal computation; a tie counts for all rows.
struct SelectBranch {
  std::int64_t step = 0;   ///< Step of the trial at which the branch was made.
  bool selects = false;    ///< True: the branch trained on selected rows; false: on all rows.
  std::int64_t steps = 0;  ///< Training steps of the branch, counted in batches that were read.
  double cost = 0;         ///< Computation, in units of one step that trains on all rows of its batch.
  std::string metric;      ///< Metric on the validation part at the end of the branch.
  double value = 0;        ///< Value of `metric`; NaN: none, or the branch failed.
  bool kept = false;       ///< The trial continued from this branch.
  bool operator==(const SelectBranch&) const = default;
};

/// The metrics of one trial at the end of one epoch. NaN and infinity are allowed.
struct Measurement {
  TrialId trial;           ///< Trial that was measured.
  std::int64_t epoch = 0;  ///< Number of the epoch, from 1; increases strictly within a trial.
  std::int64_t step = 0;   ///< Training steps so far.
  /// Values by name: train_loss, val_loss, val_accuracy, …; also params and flops, if a goal or constraint needs them.
  std::map<std::string, double> metrics;
  std::vector<Branch> branches = {};         ///< Branches, or a batch change, before the epoch; empty: none.
  std::vector<StartCandidate> race = {};     ///< First epoch only: results of the start, the rivals and random values.
  std::vector<SelectBranch> selecting = {};  ///< Branches of the selection comparison before the epoch; empty: none.
};

/// How a trial ended.
enum class OutcomeKind {
  kSucceeded,     ///< Trained to its budget.
  kStopped,       ///< Ended early by its halving or stopping rule, or not resumed after a pause; its result counts.
  kFailed,        ///< Diverged, out of memory, an exception or a crash.
  kCancelled,     ///< Ended by the user, or at the guard of the study.
  kDuplicate,     ///< Equal to an earlier trial, which has the result.
  kPrunedByRule,  ///< Not trained, or ended, because a pruning rule applies to the result of another trial.
};
/// Returns the name of `kind` in records: "succeeded", "stopped", "failed", "cancelled", "duplicate", or "implied" for
/// kPrunedByRule.
std::string_view outcome_name(OutcomeKind kind);

/// The end of a trial: how it ended, its reason and its weights.
struct Outcome {
  OutcomeKind kind = OutcomeKind::kSucceeded;
  std::string reason;              ///< "diverged: train_loss is nan at epoch 2", or empty.
  std::optional<TrialId> same_as;  ///< Earlier trial that this kDuplicate equals; absent for other kinds.
  std::string weights;             ///< Content address of the final state; empty: none is stored.
  /// Hash of the state after the last epoch, and of the selected weights if they are of an earlier one. It does not
  /// depend on what is stored. Absent: there is no final state.
  std::optional<Digest> weights_hash;
  /// Trial with the result by which a rule ended this one; absent: no rule did.
  std::optional<TrialId> pruned_by = {};
  std::string rule = {};  ///< Text of that rule (rule_text): "diverged along lr up"; empty: no rule.
};

// Events of a study as a strategy receives them, in logical order.

/// A trial got its number.
struct Proposed {
  TrialId trial;
  Proposal proposal;
};
/// A trial finished an epoch.
struct Measured {
  Measurement measurement;
};
/// A trial ended.
struct Ended {
  TrialId trial;
  Outcome outcome;
};
/// A trial released its slot, and it may be resumed. Its state is usually in the checkpoint store; else it trains again
/// to equal bits.
struct Paused {
  TrialId trial;
  std::int64_t epoch = 0;  ///< Last measured epoch; 0: none.
};
/// A paused trial trains again, up to the end of epoch `budget`.
struct Resumed {
  TrialId trial;
  std::int64_t epoch = 0;         ///< Last measured epoch; 0: none.
  std::int64_t budget = 0;        ///< Epoch at which the trial pauses or ends next.
  std::optional<Fork> fork = {};  ///< Fork with which it resumes; absent: it resumes from its own state.
};
/// One event of a study.
using Event = std::variant<Proposed, Measured, Ended, Paused, Resumed>;

/// Decision of a strategy about one trial after a measurement: train on, release the slot with the state stored, or
/// end.
enum class Verdict { kContinue, kPause, kStop };
/// Returns the name of `verdict` in records: "continue", "pause" or "stop".
std::string_view verdict_name(Verdict verdict);
/// Returns the verdict with this name. Errors: kDataLoss (no verdict has this name).
Result<Verdict> verdict_from_name(std::string_view name);

/// Returns a proposal as a JSON record, with one member for each field, named like it; "tunes" is is_refinement. Absent
/// and default values of fields after `budget` are left out, as is a horizon equal to the budget.
nlohmann::json proposal_json(const Proposal& proposal);
/// Reads the record of a proposal. Errors: kDataLoss (a field is missing or invalid).
Result<Proposal> proposal_from_json(const nlohmann::json& json);
/// Returns a measurement as a JSON record: "trial", "epoch", "step", "metrics", and "branches", "race" and "selecting"
/// if they are not empty. NaN and infinities are the texts "nan", "inf", "-inf".
nlohmann::json measurement_json(const Measurement& measurement);
/// Reads the record of a measurement. Errors: kDataLoss (a field is missing or invalid).
Result<Measurement> measurement_from_json(const nlohmann::json& json);
/// Returns a branch of a tune search as a JSON record: the fields by name.
nlohmann::json branch_json(const Branch& branch);
/// Reads the record of a branch of a tune search. Errors: kDataLoss (a field is missing or invalid).
Result<Branch> branch_from_json(const nlohmann::json& json);
/// Returns an outcome as a JSON record: "kind" (outcome_name), and the other fields by name if they are present;
/// "implied_by" is pruned_by.
nlohmann::json outcome_json(const Outcome& outcome);
/// Reads the record of an outcome. Errors: kDataLoss (a field is missing or invalid).
Result<Outcome> outcome_from_json(const nlohmann::json& json);

}  // namespace lanista::study
