#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "lanista/search/sampler/strategy.h"
#include "lanista/search/study/pareto.h"

namespace lanista::search {

/// The losses of a trial at the end of one epoch.
struct EpochLosses {
  std::int64_t epoch = 0;      ///< Epoch, from 1.
  std::vector<double> losses;  ///< One loss per goal; smaller is better.
  double violation = 0;        ///< Violation of the constraints; 0 if all are met.
};

/// A trial with its losses, its violation of constraints and its outcome.
struct Observation {
  TrialId trial;             ///< Trial that was observed.
  study::Proposal proposal;  ///< Decisions of the trial.
  /// Losses of the last measurement, one per goal; smaller is better. Empty: it failed, was cancelled or measured
  /// nothing, which is worst.
  std::vector<double> losses;
  /// Epoch of the last measurement, which is the fidelity of the result; 0: nothing was measured.
  std::int64_t epoch = 0;
  study::OutcomeKind outcome = study::OutcomeKind::kSucceeded;
  double violation = 0;                          ///< Violation of the constraints at that epoch; 0 if all are met.
  std::vector<EpochLosses> earlier_epochs = {};  ///< Measurements before the last, epochs ascending.
  /// True: the trial was observed before, at an earlier pause. It may have the same epochs, if it ended while paused.
  bool is_update = false;
};

// Comparable results. A stopping rule ends some trials at epoch 1 and others at epoch 27. Losses of different epochs
// are not comparable, so no strategy compares them. Two functions of this file compare trials instead.
//
// `ranks_at_equal_fidelity` ranks trials. At one epoch a RankOrder decides. Between epochs the order of successive
// halving holds (Jamieson and Talwalkar, AISTATS'16; Optuna's TPE ranks its pruned trials so): the trial that trained
// longer is ahead, because it was preferred where both were measured. Asynchronous halving (Li et al., MLSys'20) also
// promotes trials that were not preferred: the first ones at a rung, and those of another bracket. So a trial that
// ended at epoch e passes longer trials from the end of the ranking, as long as each was worse than it at e. It stops
// at the first one that was not worse, because longer trials were compared at a higher fidelity. Without early stopping
// this is the plain order at the last epoch.
//
// `modelled_epoch` is for models of the losses themselves, which need losses of one epoch.
//
// Trials without losses (failed, cancelled, not measured) are last and equal. Averages of repeated trainings count like
// any other measurement. They are made epoch by epoch.

/// Ranks losses of one epoch: one number per trial, smaller is better, equal numbers for equal results.
using RankOrder = std::function<std::vector<std::int64_t>(const std::vector<EpochLosses>&)>;
/// Ranks by Pareto fronts under constrained domination (study/pareto.h): feasible ones first, then by smaller
/// violation. NaN is last.
std::vector<std::int64_t> rank_by_fronts(const std::vector<EpochLosses>& epoch_losses_of_trials);
/// Ranks feasible ones first, then by smaller violation, then by the first goal, then by the next goals where it is
/// equal. Trials with a NaN of the first goal are last, whatever their violation. A NaN of a later goal is worse than
/// any number.
std::vector<std::int64_t> rank_by_goals_in_order(const std::vector<EpochLosses>& epoch_losses_of_trials);

/// Returns the ranks of trials at equal fidelity, 0 for the best, without gaps.
///
/// Trials of one rank ended at one epoch, except those without losses. O(number of end epochs) calls of `order`.
std::vector<std::int64_t> ranks_at_equal_fidelity(const std::vector<const Observation*>& trials,
                                                  const RankOrder& order = rank_by_fronts);
/// Returns the ranks of a container of observations at equal fidelity, 0 for the best, in the order of the container.
template <class Observations>
std::vector<std::int64_t> ranks_at_equal_fidelity(const Observations& trials, const RankOrder& order = rank_by_fronts) {
  std::vector<const Observation*> all;
  for (const Observation& trial : trials) all.push_back(&trial);
  return ranks_at_equal_fidelity(all, order);
}

/// Returns the losses of a trial at the end of `epoch`, or nullopt if it did not measure it or failed.
std::optional<EpochLosses> losses_at(const Observation& trial, std::int64_t epoch);

/// Returns the epoch from which a model of the losses learns, or 0 if nothing was measured.
///
/// It is the largest epoch that at least `enough` trials measured (BOHB, Falkner et al., ICML'18; for d dimensions
/// d + 2 or more). If there is none, it is the epoch that most trials measured, and of several the largest. Trials that
/// ended before it have no value in the model. Trials that trained further have their losses at this epoch (losses_at).
std::int64_t modelled_epoch(const std::vector<const Observation*>& trials, std::size_t enough);

/// Collects the events of each trial into one observation.
///
/// The sampler keeps the observations that it needs. A paused trial is observed like one that was stopped there. If it
/// resumes, it is observed again at its next pause or end, and insert_or_replace puts the new result in place of the
/// old one.
class History {
 public:
  explicit History(const Context& context) : goals_(context.goals), constraints_(context.constraints) {}

  /// Processes an event. Returns the observation of the trial that paused or ended with it, or nullopt.
  ///
  /// A duplicate gives no observation, because the trial that it repeats has one. A trial that failed, was cancelled or
  /// measured nothing has no losses. A pruned trial counts as failed or cancelled (study::kind_for_strategy). Events of
  /// trials that were not proposed are ignored.
  std::optional<Observation> observe(const study::Event& event);
  /// Returns the trials that have not paused or ended yet, with their measurements.
  const std::map<TrialId, Observation>& running() const { return running_; }
  /// Returns the trials that have paused at least once and not ended, with their measurements. They may be running
  /// again.
  const std::map<TrialId, Observation>& paused_trials() const { return paused_trials_; }

 private:
  std::vector<study::Goal> goals_;
  std::vector<study::Constraint> constraints_;
  std::map<TrialId, Observation> running_, paused_trials_;
};

/// Puts an observation in place of the earlier one of the same trial, or at the end.
///
/// Returns the index of the observation in `all`, and true if it was added at the end, false if it replaced one.
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

}  // namespace lanista::search
