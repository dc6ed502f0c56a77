#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "lanista/search/study/trial.h"

namespace lanista::search {

/// The brackets of Hyperband as DEHB uses them.
///
/// R is the largest budget, and s_max + 1 is the number of budgets. Bracket s begins with
/// floor((s_max + 1) / (s + 1)) eta^s trials at the budget R / eta^s. A share of 1 / eta of them, rounded down,
/// continues at each next budget. The bracket with the smallest first budget runs first, then the next larger one.
struct DehbBrackets {
  std::int64_t eta = 3;               ///< Ratio of two budgets.
  std::vector<std::int64_t> budgets;  ///< Epochs, ascending: R / eta^k, rounded down. The last one is R.
  /// Number of trials at each budget of a bracket, from its first budget to R. The brackets are in running order.
  std::vector<std::vector<std::int64_t>> counts;
  /// One size per budget: the most trials that a bracket has there. If there is one budget only, the size is 20.
  std::vector<std::size_t> populations;

  /// Computes the brackets in whole numbers. No budget is below `min`, and the last one is `epochs`. Needs
  /// 1 <= min <= epochs and eta >= 2.
  DehbBrackets(std::int64_t min, std::int64_t eta, std::int64_t epochs);
  /// Returns the index in `counts` of bracket number `bracket`, counted from 0 over the whole search: bracket modulo
  /// counts.size(), since brackets repeat in running order.
  std::size_t bracket_kind(std::int64_t bracket) const {
    return static_cast<std::size_t>(bracket % static_cast<std::int64_t>(counts.size()));
  }
  /// Returns the index in `budgets` of the first budget of bracket number `bracket`.
  std::size_t first_budget(std::int64_t bracket) const { return budgets.size() - counts[bracket_kind(bracket)].size(); }
  /// True if later rungs of the bracket train promoted trials. After the first round of brackets they train new ones.
  bool promotes(std::int64_t bracket) const { return bracket < static_cast<std::int64_t>(counts.size()); }
};

/// The open brackets of DEHB, which decide what trial comes next and to what population it belongs.
///
/// A bracket is synchronous: a rung begins when all trials of the one before have a result. If no entry is free, a new
/// bracket opens, so no worker waits. The plan is a value and can be copied.
class DehbPlan {
 public:
  /// One trial of a rung.
  struct RungEntry {
    std::size_t budget = 0;                ///< Index of its budget in DehbBrackets::budgets.
    std::size_t target = 0;                ///< Index in the population of its budget of the member that it may replace.
    std::size_t pool_budget = 0;           ///< Index of the budget from which its parents come.
    std::int64_t pool = 0;                 ///< Number of the best members of that population that may be parents.
    std::optional<TrialId> promoted = {};  ///< Trial that is to continue. None: it needs a new trial.
    std::optional<TrialId> trial = {};     ///< Trial that runs it. None: it has not begun.
    bool done = false;  ///< True: its trial has a result at this budget, or has ended. The caller sets it.
  };

  explicit DehbPlan(DehbBrackets brackets);

  /// Returns the entry that the next new trial gets. Opens a bracket if no entry is free. The caller sets its `trial`,
  /// so that it is not free any more. The reference is valid until the plan changes.
  RungEntry& next_new_entry();
  /// Returns the entries with a paused trial that is to continue, by bracket and then in order of entries. They are
  /// valid until the plan changes.
  std::vector<const RungEntry*> promotions() const;
  /// Returns the entry, not yet done, of an open bracket that the trial runs or is promoted to, or null. It is valid
  /// until the plan changes.
  RungEntry* entry_of(TrialId trial);
  /// Closes finished rungs and begins the next ones. Finished brackets are removed.
  ///
  /// `promotable(budget, count)` returns at most `count` trials to promote from the budget of that index, the best one
  /// first. It is called for the first round of brackets only. Entries without a promoted trial need new trials.
  template <class Promotable>
  void advance(const Promotable& promotable) {
    for (Bracket& bracket : open_) {
      while (is_done(bracket) && bracket.rung + 1 < counts_of(bracket).size()) {
        const std::int64_t count = next_count(bracket);
        ++bracket.rung;
        std::vector<TrialId> promoted_trials;
        if (brackets_.promotes(bracket.number)) promoted_trials = promotable(budget_of(bracket) - 1, count);
        begin_rung(bracket, count, promoted_trials);
      }
    }
    std::erase_if(open_, [](const Bracket& bracket) { return is_done(bracket); });
  }
  /// Closes the rungs of the first round of brackets that wait only for new trials: their free entries are removed.
  /// Such a bracket continues as if it had been planned for the trials that began. advance() begins its next rung.
  /// Returns true if there was one.
  bool close_unfilled();
  /// True if the trial has a result in the current rung of an open bracket.
  bool has_arrived(TrialId trial) const;
  /// True if a paused trial may still be promoted, because a bracket that promotes is open or will open.
  bool can_promote() const;
  /// Returns the sizes and budgets of the brackets.
  const DehbBrackets& brackets() const { return brackets_; }

 private:
  struct Bracket {
    std::int64_t number = 0;         ///< Number in the order of opening, from 0.
    std::size_t rung = 0;            ///< Current rung.
    std::vector<RungEntry> entries;  ///< Entries of the current rung.
    bool is_short = false;           ///< True: a rung was closed before it was full.
  };
  static bool is_done(const Bracket& bracket);
  const std::vector<std::int64_t>& counts_of(const Bracket& bracket) const {
    return brackets_.counts[brackets_.bracket_kind(bracket.number)];
  }
  std::size_t budget_of(const Bracket& bracket) const { return brackets_.first_budget(bracket.number) + bracket.rung; }
  /// Returns the number of entries of the next rung.
  std::int64_t next_count(const Bracket& bracket) const;
  void begin_rung(Bracket& bracket, std::int64_t count, const std::vector<TrialId>& promoted_trials);

  DehbBrackets brackets_;
  std::deque<Bracket> open_;
  std::int64_t opened_ = 0;
  std::vector<std::size_t> next_target_;  ///< Index of the next target, one per budget.
};

}  // namespace lanista::search
