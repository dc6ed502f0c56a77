#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "lanista/search/study/trial.h"

namespace lanista::strategy {

/// Hyperband's brackets as DEHB has them: bracket s begins with floor((s_max + 1) / (s + 1)) eta^s trials at budget
/// R / eta^s, of which a part of 1 / eta goes to each next budget.
struct DehbBrackets {
  std::int64_t eta = 3;
  std::vector<std::int64_t> budgets;              ///< ascending, the last is R; R / eta^k, rounded down
  std::vector<std::vector<std::int64_t>> counts;  ///< by bracket, in the order in which they run: trials at each of the
                                                  ///< last budgets, as many budgets as the bracket has
  std::vector<std::size_t> populations;           ///< of each budget: the most trials that a bracket has there

  /// Needs 1 <= min <= epochs and eta >= 2. Whole numbers throughout.
  DehbBrackets(std::int64_t min, std::int64_t eta, std::int64_t epochs);
  /// Of the n-th bracket ever opened: its place in `counts`.
  std::size_t bracket_kind(std::int64_t bracket) const {
    return static_cast<std::size_t>(bracket % static_cast<std::int64_t>(counts.size()));
  }
  /// The place of a bracket's first budget.
  std::size_t first_budget(std::int64_t bracket) const { return budgets.size() - counts[bracket_kind(bracket)].size(); }
  /// Whether the trials of its later rungs are promoted ones; afterwards they are new.
  bool promotes(std::int64_t bracket) const { return bracket < static_cast<std::int64_t>(counts.size()); }
};

/// Which trial comes next, and where it belongs: the brackets of DEHB that are open. Synchronous within a bracket: a
/// rung begins when all trials of the one before have a result. Where nothing is left to begin, a new bracket opens, so
/// that nobody ever waits. A value.
class DehbPlan {
 public:
  struct RungEntry {
    std::size_t budget = 0;                ///< its place among the budgets
    std::size_t target = 0;                ///< the member of that budget's population that it may replace
    std::size_t pool_budget = 0;           ///< whose members a new point is made from,
    std::int64_t pool = 0;                 ///< and of how many of the best of them
    std::optional<TrialId> promoted = {};  ///< who goes on; none: a new trial
    std::optional<TrialId> trial = {};     ///< who does it; none: nobody yet
    bool done = false;
  };

  explicit DehbPlan(DehbBrackets brackets);

  /// The job that the next new trial does; opens a bracket if there is none.
  RungEntry& next_new_entry();
  /// Paused trials that are to go on, in order.
  std::vector<const RungEntry*> promotions() const;
  /// Of a trial that does it, or that is to go on; null: none.
  RungEntry* entry_of(TrialId trial);
  /// Closes rungs whose jobs are done and opens what follows. `promotable` names, for a budget's place, at most `count`
  /// trials to be promoted from there, the best first.
  template <class Promotable>
  void advance(const Promotable& promotable) {
    for (Bracket& bracket : open_) {
      while (is_done(bracket) && bracket.rung + 1 < counts_of(bracket).size()) {
        ++bracket.rung;
        const std::int64_t count = counts_of(bracket)[bracket.rung];
        std::vector<TrialId> promoted_trials;
        if (brackets_.promotes(bracket.number)) promoted_trials = promotable(budget_of(bracket) - 1, count);
        begin_rung(bracket, promoted_trials);
      }
    }
    std::erase_if(open_, [](const Bracket& bracket) { return is_done(bracket); });
  }
  /// Whether a trial that rests may yet be promoted: a bracket that promotes is open, or still to come.
  bool can_promote() const;
  const DehbBrackets& brackets() const { return brackets_; }

 private:
  struct Bracket {
    std::int64_t number = 0;  ///< in the order of opening
    std::size_t rung = 0;
    std::vector<RungEntry> entries;  ///< of this rung
  };
  static bool is_done(const Bracket& bracket);
  const std::vector<std::int64_t>& counts_of(const Bracket& bracket) const {
    return brackets_.counts[brackets_.bracket_kind(bracket.number)];
  }
  std::size_t budget_of(const Bracket& bracket) const { return brackets_.first_budget(bracket.number) + bracket.rung; }
  void begin_rung(Bracket& bracket, const std::vector<TrialId>& promoted_trials);

  DehbBrackets brackets_;
  std::deque<Bracket> open_;
  std::int64_t opened_ = 0;
  std::vector<std::size_t> next_target_;  ///< by budget
};

}  // namespace lanista::strategy
