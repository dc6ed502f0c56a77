#include "lanista/bench/function_search.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <utility>

#include "lanista/bench/arms.h"

namespace lanista::bench {
namespace {

/// The engine's part, without logs: members of groups are taken up as slots get free, trials pause at their budgets.
class FunctionSearch {
 public:
  FunctionSearch(const TestFunction& function, strategy::Strategy& strategy, const FunctionBudget& budget,
                 std::uint64_t seed)
      : function_(function), strategy_(strategy), budget_(budget), rng_(Rng(seed).split("noise")) {}

  Result<FunctionRun> run() {
    const double begin = now_seconds();
    for (const std::int64_t mark : budget_.marks) {
      while (spent_ < mark) {
        LANISTA_TRY(fill());
        if (running_.empty()) break;
        const TrialId id = running_.front();
        running_.pop_front();
        if (advance(id)) running_.push_back(id);
      }
      out_.regrets.push_back(chosen_ - function_.minimum);
    }
    out_.seconds = now_seconds() - begin;
    return std::move(out_);
  }

 private:
  struct Trial {
    space::Sample sample;
    Rng noise;
    std::int64_t epoch = 0, budget = 0, full = 0;
  };

  Result<void> fill() {
    while (std::ssize(running_) < budget_.slots) {
      if (waiting_.empty()) {
        if (barrier_ && !running_.empty()) return {};
        strategy::Capacity capacity;
        capacity.free_slots = budget_.slots - std::ssize(running_);
        capacity.running = std::ssize(running_);
        capacity.paused = paused_;
        auto answer = strategy_.suggest(capacity);
        if (!answer && answer.error().code != Code::kResourceExhausted) return answer.error();
        if (!answer || answer->kind != strategy::Suggestion::Kind::kGroup) return {};
        barrier_ = answer->group.barrier;
        for (strategy::Member& member : answer->group.members) waiting_.push_back(std::move(member));
        if (waiting_.empty()) return {};
      }
      begin(waiting_.front());
      waiting_.pop_front();
    }
    return {};
  }

  void begin(const strategy::Member& member) {
    if (const auto* fresh = std::get_if<strategy::NewTrial>(&member)) {
      const TrialId id{static_cast<std::uint32_t>(++out_.trials)};
      const study::Proposal& proposal = fresh->proposal;
      const Digest hash = space::hash_sample(proposal.sample);
      trials_[id] = {proposal.sample, rng_.split(hash.hi ^ hash.lo), 0, proposal.budget, study::full_epochs(proposal)};
      running_.push_back(id);
      strategy_.observe(study::Proposed{id, proposal});
    } else if (const auto* resume = std::get_if<strategy::ResumeTrial>(&member)) {
      Trial& trial = trials_.at(resume->trial);
      trial.budget = resume->budget;
      --paused_;
      running_.push_back(resume->trial);
      strategy_.observe(study::Resumed{resume->trial, trial.epoch, resume->budget});
    } else {
      const TrialId id = std::get<strategy::StopTrial>(member).trial;
      if (std::erase(running_, id) == 0) --paused_;
      end(id, study::OutcomeKind::kStopped);
    }
  }

  /// Trains an epoch; whether the trial goes on.
  bool advance(TrialId id) {
    Trial& trial = trials_.at(id);
    ++trial.epoch;
    ++spent_;
    const double part = static_cast<double>(trial.epoch) / static_cast<double>(function_.epochs);
    const double loss =
        function_.measured(trial.sample, part, trial.noise.split(static_cast<std::uint64_t>(trial.epoch)));
    if (std::pair(-trial.epoch, loss) < best_) {
      best_ = {-trial.epoch, loss};
      chosen_ = function_.truth(trial.sample);
    }
    strategy_.observe(study::Measured{{id, trial.epoch, trial.epoch, {{"loss", loss}}}});
    if (trial.epoch == trial.full) return end(id, study::OutcomeKind::kSucceeded);
    if (strategy_.verdict(id).verdict == study::Verdict::kStop) return end(id, study::OutcomeKind::kStopped);
    if (trial.epoch < trial.budget) return true;
    ++paused_;
    strategy_.observe(study::Paused{id, trial.epoch});
    return false;
  }

  bool end(TrialId id, study::OutcomeKind kind) {
    study::Outcome outcome;
    outcome.kind = kind;
    strategy_.observe(study::Ended{id, outcome});
    trials_.erase(id);
    return false;
  }

  const TestFunction& function_;
  strategy::Strategy& strategy_;
  const FunctionBudget& budget_;
  Rng rng_;
  FunctionRun out_;
  std::map<TrialId, Trial> trials_;  ///< that have not ended
  std::deque<TrialId> running_;
  std::deque<strategy::Member> waiting_;  ///< of the group in hand
  bool barrier_ = false;
  std::int64_t paused_ = 0, spent_ = 0;
  std::pair<std::int64_t, double> best_{0, 0};
  double chosen_ = std::numeric_limits<double>::infinity();
};

}  // namespace

Result<FunctionRun> search_function(const TestFunction& function, const strategy::StrategyPlugin& plugin,
                                    const Options& options, const FunctionBudget& budget, std::uint64_t seed) {
  const strategy::Context context = function.context(seed);
  LANISTA_ASSIGN(auto sampler, plugin.make(context, options));
  auto rule = sampler->own_halving();
  for (const strategy::StoppingPlugin& each : strategy::builtin_stopping_rules()) {
    if (rule != nullptr || each.name != budget.rule) continue;
    LANISTA_ASSIGN(const Options defaults, resolve_options(Options::object(), each.options));
    LANISTA_ASSIGN(rule, each.make({context.goals, context.epochs}, defaults));
  }
  if (rule == nullptr) return Error{Code::kInternal, "there is no stopping rule '" + budget.rule + "'", ""};
  const auto strategy = strategy::compose(std::move(sampler), std::move(rule));
  return FunctionSearch(function, *strategy, budget, seed).run();
}

}  // namespace lanista::bench
