#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "lanista/model/space/unit_interval.h"
#include "lanista/search/math/differential_evolution.h"
#include "lanista/search/sampler/builtin.h"
#include "lanista/search/sampler/decisions.h"
#include "lanista/search/sampler/dehb_plan.h"
#include "lanista/search/sampler/history.h"
#include "lanista/search/sampler/proposal_sampler.h"
#include "lanista/search/study/earlier_study.h"

namespace lanista::search {
namespace {

using UnitPoint = std::vector<double>;  ///< A configuration: one coordinate per decision in the unit cube.

/// The state of DEHB: a population for each budget and the plan of the brackets. It depends only on the events.
class DehbState {
 public:
  DehbState(const Context& context, DehbBrackets brackets)
      : decisions_(context, false),
        history_(context),
        plan_(std::move(brackets)),
        closes_unfilled_(context.rules > study::kFirstRules) {
    for (const std::size_t size : plan_.brackets().populations) populations_.emplace_back(size);
  }

  void observe(const study::Event& event) {
    if (const auto* proposed = std::get_if<study::Proposed>(&event)) add_trial(proposed->trial, proposed->proposal);
    if (const auto* resumed = std::get_if<study::Resumed>(&event)) {
      // A trial of a rung that is not full continues, so no new trial comes.
      if (closes_unfilled_ && plan_.has_arrived(resumed->trial)) close_unfilled(plan_, trained_);
      if (DehbPlan::RungEntry* entry = plan_.entry_of(resumed->trial)) entry->trial = resumed->trial;
      paused_.erase(resumed->trial);
    }
    if (const auto* paused = std::get_if<study::Paused>(&event)) paused_.insert(paused->trial);
    const auto seen = history_.observe(event);
    if (seen) record_result(*seen);
    if (const auto* ended = std::get_if<study::Ended>(&event)) {
      paused_.erase(ended->trial);
      // It may have ended without a result.
      if (DehbPlan::RungEntry* entry = plan_.entry_of(ended->trial)) entry->done = true;
      points_.erase(ended->trial);
    }
    plan_.advance([this](std::size_t budget, std::int64_t count) { return promotable(budget, count, trained_); });
  }

  /// Returns the entry of the next new trial after `others` new ones.
  DehbPlan::RungEntry upcoming(std::size_t others) const {
    DehbPlan plan = plan_;
    for (std::size_t i = 0; i < others; ++i) plan.next_new_entry().done = true;
    return plan.next_new_entry();
  }
  /// Returns the entries of the next `count` new trials.
  std::vector<DehbPlan::RungEntry> upcoming_all(std::size_t count) const {
    DehbPlan plan = plan_;
    std::vector<DehbPlan::RungEntry> out;
    while (out.size() < count) {
      out.push_back(plan.next_new_entry());
      plan.next_new_entry().done = true;
    }
    return out;
  }
  /// Returns the epochs of an entry's budget.
  std::int64_t budget(const DehbPlan::RungEntry& entry) const { return plan_.brackets().budgets[entry.budget]; }

  /// Returns the promoted trials to resume. When no trial can be promoted any more, also the paused trials to end. If
  /// no new trials come, rungs that only wait for them are closed.
  std::vector<Member> promotions(std::int64_t count, bool has_new_trials) const {
    if (!has_new_trials && closes_unfilled_) {
      DehbPlan plan = plan_;
      TrainedTrials trained = trained_;
      close_unfilled(plan, trained);
      return promotions(plan, count);
    }
    return promotions(plan_, count);
  }

  /// Returns a child for an entry, or nullopt if too few trials have a result.
  std::optional<UnitPoint> child(const DehbPlan::RungEntry& entry, const DifferentialStep& step, const Rng& rng) const {
    const std::optional<Individual>& target = populations_[entry.budget][entry.target];
    if (!target) return std::nullopt;
    std::vector<const UnitPoint*> pool;
    for (const Individual* each : best(entry.pool_budget)) {
      if (std::ssize(pool) == entry.pool) break;
      if (each != &*target) pool.push_back(&each->point);
    }
    std::vector<const UnitPoint*> others;  // Members of other budgets, which fill up a pool that is too small.
    for (const auto& population : populations_) {
      for (const auto& each : population) {
        if (each && &*each != &*target && std::ranges::find(pool, &each->point) == pool.end()) {
          others.push_back(&each->point);
        }
      }
    }
    Rng sampling_rng = rng.split("parents");
    while (pool.size() < 3 && !others.empty()) {
      const auto at = others.begin() + static_cast<std::ptrdiff_t>(sampling_rng.below(others.size()));
      pool.push_back(*at);
      others.erase(at);
    }
    if (pool.size() < 3) return std::nullopt;
    const auto three = sampling_rng.sample_without_replacement(static_cast<std::uint32_t>(pool.size()), 3);
    return offspring(target->point, {pool[three[0]], pool[three[1]], pool[three[2]]}, step, rng);
  }

  const DecisionList& decisions() const { return decisions_; }

 private:
  /// Whether the result is NaN or missing, then the violation, then the losses in order of goals. Smaller is better.
  using Fitness = std::tuple<bool, double, std::vector<double>>;
  struct Individual {
    UnitPoint point;
    Fitness fitness;
    TrialId trial;
  };
  using Population = std::vector<std::optional<Individual>>;  ///< nullopt: no result yet.

  using TrainedTrials = std::set<std::pair<std::size_t, TrialId>>;  ///< Index of a budget, trial.

  std::vector<Member> promotions(const DehbPlan& plan, std::int64_t count) const {
    std::vector<Member> out;
    std::set<TrialId> promoted_before;
    for (const DehbPlan::RungEntry* entry : plan.promotions()) {
      promoted_before.insert(*entry->promoted);
      if (std::ssize(promoted_before) <= count) out.emplace_back(ResumeTrial{*entry->promoted, budget(*entry)});
    }
    if (plan.can_promote()) return out;
    for (const TrialId trial : paused_) {
      if (!promoted_before.contains(trial)) out.emplace_back(StopTrial{trial});
    }
    return out;
  }

  /// Closes the rungs that wait only for new trials, and promotes their best trials.
  void close_unfilled(DehbPlan& plan, TrainedTrials& trained) const {
    while (plan.close_unfilled()) {
      plan.advance([&](std::size_t budget, std::int64_t count) { return promotable(budget, count, trained); });
    }
  }

  void add_trial(TrialId trial, const study::Proposal& proposal) {
    points_[trial] = point_of(proposal);
    if (trial.value >= study::kFirstEarlierTrialId) return;
    DehbPlan::RungEntry& entry = plan_.next_new_entry();
    entry.trial = trial;
  }

  /// Returns the point of a proposal. An inactive decision has the coordinate 0.5.
  UnitPoint point_of(const study::Proposal& proposal) const {
    const DecisionList::DecisionValues answers = decisions_.values_of(proposal);
    UnitPoint out;
    for (const auto& group : decisions_.groups()) {
      const auto& answer = answers[group[0]];
      out.push_back(answer ? space::unit_position(decisions_.domain(group[0]), *answer) : 0.5);
    }
    return out;
  }

  static Fitness fitness_of(const std::optional<EpochLosses>& epoch_losses) {
    const bool lost = !epoch_losses || epoch_losses->losses.empty() ||
                      std::ranges::any_of(epoch_losses->losses, [](double x) { return std::isnan(x); });
    return lost ? Fitness{true, 0, {}} : Fitness{false, epoch_losses->violation, epoch_losses->losses};
  }

  /// Processes the result of a trial that paused or ended.
  void record_result(const Observation& seen) {
    const auto point = points_.find(seen.trial);
    if (point == points_.end()) return;
    if (seen.trial.value >= study::kFirstEarlierTrialId) return add_earlier_trial(seen, point->second);
    DehbPlan::RungEntry* entry = plan_.entry_of(seen.trial);
    if (entry == nullptr || !entry->trial) return;
    entry->done = true;
    if (seen.outcome == study::OutcomeKind::kCancelled) return;
    Individual fresh{point->second, fitness_of(losses_at(seen, budget(*entry))), seen.trial};
    trained_.insert({entry->budget, seen.trial});
    std::optional<Individual>& target = populations_[entry->budget][entry->target];
    if (!target || !(target->fitness < fresh.fitness)) target = std::move(fresh);
  }

  /// Adds a trial of an earlier study to the population of every budget that it measured, in a free place or in place
  /// of the worst member if that is worse.
  void add_earlier_trial(const Observation& seen, const UnitPoint& point) {
    for (std::size_t k = 0; k < populations_.size(); ++k) {
      const auto epoch_losses = losses_at(seen, plan_.brackets().budgets[k]);
      if (!epoch_losses) continue;
      const auto worse = [](const std::optional<Individual>& a, const std::optional<Individual>& b) {
        return a && (!b || a->fitness < b->fitness);
      };
      auto& worst = *std::max_element(populations_[k].begin(), populations_[k].end(), worse);
      Individual fresh{point, fitness_of(epoch_losses), seen.trial};
      if (!worst || fresh.fitness < worst->fitness) worst = std::move(fresh);
    }
  }

  /// Returns the individuals of a budget, the best first. Ties go by trial id.
  std::vector<const Individual*> best(std::size_t budget) const {
    std::vector<const Individual*> out;
    for (const auto& each : populations_[budget]) {
      if (each) out.push_back(&*each);
    }
    std::ranges::sort(out, [](const Individual* a, const Individual* b) {
      return std::tie(a->fitness, a->trial) < std::tie(b->fitness, b->trial);
    });
    return out;
  }

  /// Returns the best paused trials of a budget that were neither trained at the next one nor promoted to it.
  std::vector<TrialId> promotable(std::size_t budget, std::int64_t count, TrainedTrials& trained) const {
    std::vector<TrialId> out;
    for (const Individual* each : best(budget)) {
      if (std::ssize(out) == count) break;
      if (std::get<0>(each->fitness) || !paused_.contains(each->trial)) continue;
      if (trained.insert({budget + 1, each->trial}).second) out.push_back(each->trial);
    }
    return out;
  }

  DecisionList decisions_;
  History history_;
  DehbPlan plan_;
  std::vector<Population> populations_;  ///< One population per budget.
  std::map<TrialId, UnitPoint> points_;  ///< Points of trials that have not ended.
  std::set<TrialId> paused_;
  TrainedTrials trained_;        ///< Trials that were trained at a budget or promoted to it.
  bool closes_unfilled_ = true;  ///< False: the first rules, by which a rung waits until it is full.
};

/// The halving of DEHB. Only the sampler passes events to the shared state.
class DehbHalving final : public Halving {
 public:
  explicit DehbHalving(std::shared_ptr<const DehbState> state) : state_(std::move(state)) {}
  void observe(const study::Event&) override {}
  TrialVerdict verdict(TrialId) const override { return kContinueToBudget; }
  void assign_budgets(std::vector<study::Proposal>& fresh) const override {
    const auto entries = state_->upcoming_all(fresh.size());
    for (std::size_t i = 0; i < fresh.size(); ++i) {
      fresh[i].horizon = study::full_epochs(fresh[i]);
      fresh[i].budget = state_->budget(entries[i]);
    }
  }
  Promotions advance(std::int64_t count, bool has_new_trials) const override {
    return {.members = state_->promotions(count, has_new_trials)};
  }

 private:
  std::shared_ptr<const DehbState> state_;
};

/// DEHB (Awad, Mallik and Hutter, IJCAI'21): differential evolution with a population for each budget, over Hyperband's
/// brackets. In the first round of brackets the best trials of a budget are promoted to the next one. After that, each
/// rung makes new trials from the best of the budget below. Each is crossed with a member of its own budget in turn,
/// and replaces that member unless it is worse. Mutations of models are random.
class DehbSearch final : public ReplayableSampler {
 public:
  DehbSearch(const Context& context, const DehbBrackets& brackets, DifferentialStep step, MutationCount mutations)
      : ReplayableSampler(context),
        step_(step),
        proposal_sampler_(context, mutations),
        state_(std::make_shared<DehbState>(context, brackets)) {}
  std::string_view name() const override { return "dehb"; }
  std::unique_ptr<Halving> own_halving() const override { return std::make_unique<DehbHalving>(state_); }

 protected:
  NextProposal next(std::uint64_t, const Rng& rng, const DuplicateFilter& duplicates) const override {
    const DehbPlan::RungEntry entry = state_->upcoming(duplicates.group().size());
    if (state_->decisions().size() == 0 || !state_->child(entry, step_, rng))
      return random_unique(proposal_sampler_, rng, duplicates);
    return unique_or_random(proposal_sampler_, rng, duplicates, rng.split("child"),
                            [&](const Rng& r) { return propose(entry, r); });
  }
  void fold_event(const study::Event& event) override { state_->observe(event); }

 private:
  Result<study::Proposal> propose(const DehbPlan::RungEntry& entry, const Rng& rng) const {
    const UnitPoint point = *state_->child(entry, step_, rng);
    const DecisionList& decisions = state_->decisions();
    auto [base, sample] = decisions.choose_values([&](std::size_t group) -> std::vector<space::Value> {
      return {space::value_at(decisions.domain(decisions.groups()[group][0]), point[group])};
    });
    return proposal_sampler_.mutated(base, std::move(sample), rng);
  }

  DifferentialStep step_;
  ProposalSampler proposal_sampler_;
  std::shared_ptr<DehbState> state_;
};

}  // namespace

StrategyPlugin dehb_plugin() {
  using Kind = OptionSpec::Kind;
  StrategyPlugin plugin{
      "dehb",
      "DEHB: differential evolution with a population for each budget, over Hyperband's brackets; it has its own "
      "halving, so stop must be none",
      {count_option("min", 1, 1, "least budget in epochs"),
       count_option("eta", 3, 2, "one of eta trials of a budget continues, with a budget eta times larger"),
       number_option("scale", Kind::kReal, 0.5, 0, 2,
                     "factor F of the difference of two trials that is added to "
                     "a third"),
       number_option("crossover", Kind::kReal, 0.5, 0, 1, "probability CR that a coordinate is the mutant's"),
       mutation_count_option()},
      [](const Context& context, const Options& options) -> Result<std::unique_ptr<Sampler>> {
        if (context.goals.empty())
          return Error{Code::kInvalidArgument, "dehb needs a goal to compare trials by", "goals"};
        const auto min = options.at("min").get<std::int64_t>(), eta = options.at("eta").get<std::int64_t>();
        if (min > context.epochs) {
          return Error{Code::kInvalidArgument,
                       "min is " + std::to_string(min) + "; it must be at most the trial's " +
                           std::to_string(context.epochs) + " epochs",
                       "min"};
        }
        LANISTA_ASSIGN(const MutationCount mutations, mutation_count(options));
        const DifferentialStep step{options.at("scale").get<double>(), options.at("crossover").get<double>()};
        return std::unique_ptr<Sampler>(
            std::make_unique<DehbSearch>(context, DehbBrackets(min, eta, context.epochs), step, mutations));
      }};
  plugin.has_own_halving = true;
  return plugin;
}

}  // namespace lanista::search
