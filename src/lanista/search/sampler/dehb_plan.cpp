#include "lanista/search/sampler/dehb_plan.h"

#include <algorithm>
#include <utility>

#include "lanista/base/check.h"

namespace lanista::search {
namespace {

/// Size of the population if trials have one budget. Without brackets, DEHB is plain differential evolution.
constexpr std::size_t kPlainPopulation = 20;

}  // namespace

DehbBrackets::DehbBrackets(std::int64_t min, std::int64_t eta_, std::int64_t epochs) : eta(eta_) {
  LANISTA_CHECK(1 <= min && min <= epochs && eta >= 2, "brackets need 1 <= min <= epochs and eta >= 2");
  for (std::int64_t budget = epochs; budget >= min; budget /= eta) budgets.insert(budgets.begin(), budget);
  const auto levels = static_cast<std::int64_t>(budgets.size());
  std::int64_t power = 1;  // eta^s, at most `epochs`.
  for (std::int64_t s = 0; s < levels; ++s) {
    std::vector<std::int64_t> bracket;
    for (std::int64_t n = levels / (s + 1) * power; std::ssize(bracket) <= s; n /= eta) bracket.push_back(n);
    counts.insert(counts.begin(), std::move(bracket));
    if (s + 1 < levels) power *= eta;
  }
  for (std::size_t budget = 0; budget < budgets.size(); ++budget) {
    std::int64_t most = 0;
    for (const auto& bracket : counts) {
      if (budget + bracket.size() >= budgets.size()) {
        most = std::max(most, bracket[budget + bracket.size() - budgets.size()]);
      }
    }
    populations.push_back(budgets.size() == 1 ? kPlainPopulation : static_cast<std::size_t>(most));
  }
}

DehbPlan::DehbPlan(DehbBrackets brackets) : brackets_(std::move(brackets)), next_target_(brackets_.budgets.size(), 0) {}

bool DehbPlan::is_done(const Bracket& bracket) { return std::ranges::all_of(bracket.entries, &RungEntry::done); }

std::int64_t DehbPlan::next_count(const Bracket& bracket) const {
  const std::int64_t planned = counts_of(bracket)[bracket.rung + 1];
  if (!bracket.is_short) return planned;
  return std::min(planned, std::max<std::int64_t>(1, std::ssize(bracket.entries) / brackets_.eta));
}

bool DehbPlan::close_unfilled() {
  bool closed = false;
  const auto is_free = [](const RungEntry& entry) { return !entry.done && !entry.trial && !entry.promoted; };
  for (Bracket& bracket : open_) {
    const bool waits = brackets_.promotes(bracket.number) && std::ranges::any_of(bracket.entries, is_free) &&
                       std::ranges::all_of(bracket.entries, [&](const auto& e) { return e.done || is_free(e); });
    if (!waits) continue;
    std::erase_if(bracket.entries, is_free);
    bracket.is_short = closed = true;
  }
  return closed;
}

bool DehbPlan::has_arrived(TrialId trial) const {
  return std::ranges::any_of(open_, [&](const Bracket& bracket) {
    return std::ranges::any_of(bracket.entries, [&](const auto& e) { return e.done && e.trial == trial; });
  });
}

void DehbPlan::begin_rung(Bracket& bracket, std::int64_t count, const std::vector<TrialId>& promoted_trials) {
  const std::size_t budget = budget_of(bracket);
  bracket.entries.clear();
  for (std::int64_t i = 0; i < count; ++i) {
    RungEntry entry;
    entry.budget = budget;
    entry.pool_budget = bracket.rung == 0 ? budget : budget - 1;
    entry.pool = bracket.rung == 0 ? static_cast<std::int64_t>(brackets_.populations[budget]) : count;
    entry.target = next_target_[budget];
    next_target_[budget] = (entry.target + 1) % brackets_.populations[budget];
    if (i < std::ssize(promoted_trials)) entry.promoted = promoted_trials[static_cast<std::size_t>(i)];
    bracket.entries.push_back(entry);
  }
}

DehbPlan::RungEntry& DehbPlan::next_new_entry() {
  for (Bracket& bracket : open_) {
    for (RungEntry& entry : bracket.entries) {
      if (!entry.done && !entry.trial && !entry.promoted) return entry;
    }
  }
  Bracket& bracket = open_.emplace_back();
  bracket.number = opened_++;
  begin_rung(bracket, counts_of(bracket)[0], {});
  return bracket.entries.front();
}

std::vector<const DehbPlan::RungEntry*> DehbPlan::promotions() const {
  std::vector<const RungEntry*> out;
  for (const Bracket& bracket : open_) {
    for (const RungEntry& entry : bracket.entries) {
      if (!entry.done && !entry.trial && entry.promoted) out.push_back(&entry);
    }
  }
  return out;
}

DehbPlan::RungEntry* DehbPlan::entry_of(TrialId trial) {
  for (Bracket& bracket : open_) {
    for (RungEntry& entry : bracket.entries) {
      if (!entry.done && (entry.trial == trial || (!entry.trial && entry.promoted == trial))) return &entry;
    }
  }
  return nullptr;
}

bool DehbPlan::can_promote() const {
  return brackets_.promotes(opened_) ||
         std::ranges::any_of(open_, [this](const Bracket& bracket) { return brackets_.promotes(bracket.number); });
}

}  // namespace lanista::search
