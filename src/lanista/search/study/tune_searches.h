#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lanista/search/study/study_view.h"
#include "lanista/search/study/trial.h"

namespace lanista::study {

/// A search inside a trial (train.tune), as the measurement behind it tells it.
struct TuneSearchView {
  TrialId trial;
  std::int64_t epoch = 0;                 ///< before which it was
  std::int64_t step = 0;                  ///< of the trial, where its branches parted from it
  std::optional<double> start_loss = {};  ///< loss there; absent: not told, or no number
  std::vector<const Branch*> branches;    ///< that tried a setting, in their order; of the trial
  const Branch* kept = nullptr;           ///< that the trial went on from; null: it went on as before
  std::int64_t steps = 0;                 ///< trained in all, those for the loss at the start included
  std::int64_t discarded() const { return steps - (kept == nullptr ? 0 : kept->steps); }  ///< no part of the trial
};
/// In their order. O(branches).
std::vector<TuneSearchView> searches_of(const TrialView& trial);

/// The loss that a branch's slope leads to by its last step; of a race (halving) the mean over the later half of its
/// steps, as published that and the largest rise on the way. Of one whose loss did not fall the loss at the start: how
/// far it rose the log does not tell. Absent: it diverged, or the loss at the start is not told.
std::optional<double> final_loss_of(const TuneSearchView& search, const Branch& branch);

/// What searches inside a study's trials came to.
struct SearchCounts {
  std::int64_t trials = 0;  ///< that searched
  std::int64_t searches = 0;
  std::int64_t successful = 0;  ///< that ended with a setting to go on with
  std::int64_t branches = 0;
  std::int64_t discarded = 0;  ///< steps of branches that no trial went on from
};
SearchCounts search_counts(const StudyView& view);
/// "5 trials searched for settings 12 times: 96 branches, 1,530 steps given up"; empty: none did.
std::string searches_text(const SearchCounts& counts);

/// What finds, ends and tunes trials, in a few words: "evolution+asha", "random+patience, tuned by mltuner".
std::string strategy_text(const StudyConfig& config);

}  // namespace lanista::study
