#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lanista/search/study/study_view.h"
#include "lanista/search/study/trial.h"

namespace lanista::study {

/// One tune search inside a trial (train.tune), read from the measurement after it.
struct TuneSearchView {
  TrialId trial;                          ///< Trial that searched.
  std::int64_t epoch = 0;                 ///< Number of the epoch before which the search ran, from 1.
  std::int64_t step = 0;                  ///< Step of the trial at which its branches began.
  std::optional<double> start_loss = {};  ///< Loss at that step; absent: not recorded, or not finite.
  std::vector<const Branch*> branches;    ///< Branches that tried a setting, in order; they belong to the TrialView.
  const Branch* kept = nullptr;           ///< Branch from which the trial continued; null: its setting did not change.
  std::int64_t steps = 0;                 ///< Training steps in all, with those that measured the loss at the start.
  /// Returns the number of steps of branches from which the trial did not continue.
  std::int64_t discarded() const { return steps - (kept == nullptr ? 0 : kept->steps); }
};
/// Returns the tune searches of a trial, in order. O(branches).
std::vector<TuneSearchView> searches_of(const TrialView& trial);

/// Returns the loss that a branch reached by its last step, from its recorded speed.
///
/// It is the mean over the later half of the steps; for a branch with a loss that did not fall it is the loss at the
/// start. In old studies with `halving: 0` it is the loss plus the largest rise on the way. nullopt: the branch
/// diverged, or the loss at the start is not recorded.
std::optional<double> final_loss_of(const TuneSearchView& search, const Branch& branch);

/// Totals over the tune searches of a study.
struct SearchCounts {
  std::int64_t trials = 0;      ///< Number of trials with a search.
  std::int64_t searches = 0;    ///< Number of searches of all trials.
  std::int64_t successful = 0;  ///< Searches after which a trial continued from a branch.
  std::int64_t branches = 0;    ///< Number of branches that tried a setting.
  std::int64_t discarded = 0;   ///< Training steps of branches from which no trial continued.
};
/// Returns the totals over all trials of a study.
SearchCounts search_counts(const StudyView& view);
/// Returns "5 trials searched for settings 12 times: 96 branches, 1530 steps given up". Empty: there was no search.
std::string searches_text(const SearchCounts& counts);

/// Returns the names of sampler, halving, tuning and second stage: "evolution+asha", "random+patience, tuned by
/// mltuner". Parts that the study lacks, replayed settings and adaptive batches are left out.
std::string strategy_text(const StudyConfig& config);

}  // namespace lanista::study
