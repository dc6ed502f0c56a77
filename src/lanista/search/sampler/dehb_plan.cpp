#include "lanista/search/sampler/dehb_plan.h"

#include <algorithm>
#include <utility>

#include "lanista/base/check.h"

namespace lanista::strategy {
namespace {

/// Of the only population there is where trials have one budget: without brackets this is plain differential evolution.
constexpr std::size_t kPlainPopulation = 20;

}  // namespace

DehbBrackets::DehbBrackets(std::int64_t min, std::int64_t eta_, std::int64_t epochs) : eta(eta_) {
  LANISTA_CHECK(1 <= min && min <= epochs && eta >= 2, "brackets need 1 <= min <= epochs and eta >= 2");
  for (std::int64_t budget = epochs; budget >= min; budget /= eta) budgets.insert(budgets.begin(), budget);
  const auto levels = static_cast<std::int64_t>(budgets.size());
  std::int64_t power = 1;  // eta^s; at most `epochs`
  for (std::int64_t s = 0; s < levels; ++s) {
    std::vector<std::int64_t> bracket;
    for (std::int64_t n = levels / (s + 1) * power; std::ssize(bracket) <= s; n /= eta) bracket.push_back(n);
    counts.insert(counts.begin(), std::move(bracket));
    if (s + 1 < levels) power *= eta;
  }
  for (std::size_t place = 0; place < budgets.size(); ++place) {
    std::int64_t most = 0;
    for (const auto& bracket : counts) {
      if (place + bracket.size() >= budgets.size()) {
        most = std::max(most, bracket[place + bracket.size() - budgets.size()]);
      }
    }
    populations.push_back(budgets.size() == 1 ? kPlainPopulation : static_cast<std::size_t>(most));
  }
}

DehbPlan::DehbPlan(DehbBrackets brackets) : brackets_(std::move(brackets)), next_target_(brackets_.budgets.size(), 0) {}

bool DehbPlan::is_done(const Bracket& bracket) { return std::ranges::all_of(bracket.jobs, &Job::done); }

void DehbPlan::begin_rung(Bracket& bracket, const std::vector<TrialId>& going) {
  const std::size_t place = budget_of(bracket);
  const std::int64_t count = counts_of(bracket)[bracket.rung];
  bracket.jobs.clear();
  for (std::int64_t i = 0; i < count; ++i) {
    Job job;
    job.budget = place;
    job.pool_budget = bracket.rung == 0 ? place : place - 1;
    job.pool = bracket.rung == 0 ? static_cast<std::int64_t>(brackets_.populations[place]) : count;
    job.target = next_target_[place];
    next_target_[place] = (job.target + 1) % brackets_.populations[place];
    if (i < std::ssize(going)) job.promoted = going[static_cast<std::size_t>(i)];
    bracket.jobs.push_back(job);
  }
}

DehbPlan::Job& DehbPlan::next_fresh() {
  for (Bracket& bracket : open_) {
    for (Job& job : bracket.jobs) {
      if (!job.done && !job.trial && !job.promoted) return job;
    }
  }
  Bracket& bracket = open_.emplace_back();
  bracket.number = opened_++;
  begin_rung(bracket, {});
  return bracket.jobs.front();
}

std::vector<const DehbPlan::Job*> DehbPlan::promotions() const {
  std::vector<const Job*> out;
  for (const Bracket& bracket : open_) {
    for (const Job& job : bracket.jobs) {
      if (!job.done && !job.trial && job.promoted) out.push_back(&job);
    }
  }
  return out;
}

DehbPlan::Job* DehbPlan::job_of(TrialId trial) {
  for (Bracket& bracket : open_) {
    for (Job& job : bracket.jobs) {
      if (!job.done && (job.trial == trial || (!job.trial && job.promoted == trial))) return &job;
    }
  }
  return nullptr;
}

bool DehbPlan::may_promote() const {
  return brackets_.promotes(opened_) ||
         std::ranges::any_of(open_, [this](const Bracket& bracket) { return brackets_.promotes(bracket.number); });
}

}  // namespace lanista::strategy
