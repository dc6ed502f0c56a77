#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "lanista/search/sampler/strategy.h"
#include "lanista/search/study/pareto.h"

namespace lanista::strategy {

/// What a trial had measured at the end of an epoch.
struct EpochLosses {
  std::int64_t epoch = 0;
  std::vector<double> losses;  ///< one a goal, smaller is better
  double violation = 0;        ///< of the constraints; 0: it keeps to them all
};

/// A trial and what came of it.
struct Observation {
  TrialId trial;
  study::Proposal proposal;
  std::vector<double>
      losses;              ///< one a goal, of the last measurement told, smaller is better; empty: failed, the worst
  std::int64_t epoch = 0;  ///< of the last measurement: how far the trial got, its fidelity
  study::OutcomeKind outcome = study::OutcomeKind::kSucceeded;
  double violation = 0;  ///< of the constraints by the last measurement; 0: it keeps to them all
  std::vector<EpochLosses> earlier_epochs = {};  ///< before the last, epochs ascending
  bool is_update = false;                        ///< it was told before, with fewer epochs
};

// Comparable results. A stopping rule ends some trials at epoch 1 and lets others train to epoch 27; the numbers of
// different epochs are not of one kind, so no strategy compares them. There is one rule, and two questions to it.
//
// `ranks_at_equal_fidelity` is for all that ask who is better. At one epoch an RankOrder decides. Between epochs
// successive halving's own order holds (Jamieson and Talwalkar, AISTATS'16; Optuna's TPE ranks its pruned trials so):
// who got further goes first, because it was preferred where both were measured. The asynchronous form (Li et al.,
// MLSys'20) also lets trials go on that are not preferred: the first ones at a rung, and those of another bracket,
// which never stood there. Therefore a trial that ended at epoch e goes before the last of those that got further, as
// many as it was better than at e in an unbroken row from the end; a row, because those that got further were compared
// at a higher fidelity, and one look at e must not turn that round. Where nothing is stopped early this is the plain
// order at the last epoch.
//
// `modelled_epoch` is for models of the losses themselves, which need numbers of one kind.
//
// Trials without losses (failed, cancelled, nothing measured) are behind all others and equal. Averages of repeated
// trainings are readings like any other, made epoch by epoch.

/// How readings of one epoch stand to each other: one number a reading, the smaller the better, equal for equals.
using RankOrder = std::function<std::vector<std::int64_t>(const std::vector<EpochLosses>&)>;
/// Fronts by constrained domination (study/pareto.h): feasible first, then smaller violation; NaN last.
std::vector<std::int64_t> rank_by_fronts(const std::vector<EpochLosses>& epoch_losses_of_trials);
/// Feasible first, then smaller violation, then the first goal, then the next ones where it is equal; NaN last.
std::vector<std::int64_t> rank_by_goals_in_order(const std::vector<EpochLosses>& epoch_losses_of_trials);

/// Ranks at equal fidelity, 0 for the best, without gaps; trials of one rank ended at one epoch, those without losses
/// excepted. O(fidelities) times what `order` costs.
std::vector<std::int64_t> ranks_at_equal_fidelity(const std::vector<const Observation*>& trials,
                                                  const RankOrder& order = rank_by_fronts);
template <class Observations>
std::vector<std::int64_t> ranks_at_equal_fidelity(const Observations& trials, const RankOrder& order = rank_by_fronts) {
  std::vector<const Observation*> all;
  for (const Observation& trial : trials) all.push_back(&trial);
  return ranks_at_equal_fidelity(all, order);
}

/// What the trial had measured at the end of this epoch, if it did and did not fail.
std::optional<EpochLosses> losses_at(const Observation& trial, std::int64_t epoch);

/// The epoch whose readings a model should learn from: the largest of which at least `enough` trials have one (BOHB,
/// Falkner et al., ICML'18; for d dimensions d + 2 or more); while there is none, the one that most trials have, of
/// several the largest. 0: nothing was measured. Trials that were stopped before it have no value in that model; those
/// that got further have the one of this epoch (`losses_at`).
std::int64_t modelled_epoch(const std::vector<const Observation*>& trials, std::size_t enough);

/// Joins the events of a trial. The sampler keeps what it needs of the trials that rest: those that ended, and those
/// that are paused, whose results so far count as those of a trial that was stopped there. A trial that is resumed has
/// its next result when it rests again: `put` has it take the place of the one before.
class History {
 public:
  explicit History(const Context& context) : goals_(context.goals), constraints_(context.constraints) {}

  /// The trial that came to rest with this event, if one did and its result counts: a duplicate's stands elsewhere. A
  /// failed or cancelled trial, and one that measured nothing, has no losses.
  std::optional<Observation> observe(const study::Event& event);
  /// Trials of which nothing has been told yet.
  const std::map<TrialId, Observation>& running() const { return running_; }
  /// Trials that were paused before, and have not ended: what they measured so far.
  const std::map<TrialId, Observation>& paused_trials() const { return paused_trials_; }

 private:
  std::vector<study::Goal> goals_;
  std::vector<study::Constraint> constraints_;
  std::map<TrialId, Observation> running_, paused_trials_;
};

/// Puts what `History::observe` gave among the observations: in place of what they hold of the same trial, else at
/// their end. Gives its place, and whether it is new there.
template <class Observations>
std::pair<std::size_t, bool> insert_or_replace(Observations& all, Observation seen) {
  for (std::size_t i = all.size(); i-- > 0;) {
    if (all[i].trial != seen.trial) continue;
    all[i] = std::move(seen);
    return {i, false};
  }
  all.push_back(std::move(seen));
  return {all.size() - 1, true};
}

}  // namespace lanista::strategy
