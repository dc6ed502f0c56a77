// Population based training: members go on from the state of better ones, with settings beside theirs.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "lanista/search/sampler/builtin.h"
#include "lanista/search/sampler/proposal_sampler.h"
#include "lanista/search/sampler/perturbation.h"
#include "lanista/search/sampler/constraint_filter.h"
#include "lanista/search/halving/rung_ranking.h"
#include "lanista/search/study/earlier_study.h"
#include "lanista/search/study/pareto.h"

namespace lanista::strategy {
namespace {

/// What is fixed for a trial: its model and those hyper-parameters that cannot change while it trains. Who agrees in it
/// can go on from each other's state.
Digest nature_of(const study::Proposal& proposal) {
  space::Sample fixed = proposal.sample;
  std::erase_if(fixed, [](const auto& entry) { return study::can_change_in_training(entry.first); });
  return Hasher().digest(proposal.graph_hash).digest(space::hash_sample(fixed)).finish();
}

/// Generations of population based training (Jaderberg et al. 2017), a fold. All members train an interval and pause;
/// when all are there, those of the bottom quantile, and all that have left the numbers, go on from the state of a
/// member of the top one, with its hyper-parameters perturbed or drawn anew; the others go on as they are.
class Population {
 public:
  struct Settings {
    std::int64_t size = 8, interval = 1, epochs = 1;
    double quantile = 0.25;
    Exploration explore;
  };

  Population(Settings settings, const Context& context, std::vector<study::Goal> on)
      : settings_(settings),
        params_(context.params),
        on_(std::move(on)),
        constraints_(context.constraints),
        filter_(context),
        rng_(context.rng.split("generations")) {}

  void observe(const study::Event& event) {
    if (const auto* proposed = std::get_if<study::Proposed>(&event)) join(*proposed);
    if (const auto* measured = std::get_if<study::Measured>(&event)) measure(measured->measurement);
    if (const auto* paused = std::get_if<study::Paused>(&event)) {
      if (PopulationMember* member = find(paused->trial)) member->rests = true;
    }
    if (const auto* resumed = std::get_if<study::Resumed>(&event)) go_on(*resumed);
    if (const auto* ended = std::get_if<study::Ended>(&event)) leave(*ended);
  }

  std::int64_t room() const { return closed_ ? 0 : std::max<std::int64_t>(0, settings_.size - begun_); }
  std::int64_t first_budget() const { return std::min(settings_.interval, settings_.epochs); }
  std::int64_t epochs() const { return settings_.epochs; }

  /// A NaN is no end while there is somebody to go on from.
  bool tolerates_divergence(TrialId trial) const {
    return std::ranges::any_of(members_, [&](const auto& m) { return m.first != trial && !m.second.failed; });
  }

  /// The next generation; empty while anybody trains.
  std::vector<lanista::strategy::Member> next() const {
    if (members_.empty()) return {};
    std::int64_t epoch = std::numeric_limits<std::int64_t>::max();
    for (const auto& [trial, member] : members_) {
      if (!member.rests) return {};
      epoch = std::min(epoch, member.epoch);
    }
    std::vector<TrialId> there;  // all of them, but for the order in which budgets were spent
    for (const auto& [trial, member] : members_) {
      if (member.epoch == epoch) there.push_back(trial);
    }
    const std::int64_t budget = std::min(epoch + settings_.interval, settings_.epochs);
    std::map<TrialId, study::Fork> forks = forks_of(there, epoch);
    // Whoever forks stands before whoever it forks from, which rests until then.
    std::vector<lanista::strategy::Member> group;
    for (const auto& [trial, fork] : forks) group.emplace_back(ResumeTrial{trial, budget, fork});
    for (const TrialId trial : there) {
      if (!forks.contains(trial)) group.emplace_back(ResumeTrial{trial, budget});
    }
    return group;
  }

 private:
  struct PopulationMember {
    study::Proposal proposal;  ///< with its present hyper-parameters
    Digest nature;
    std::int64_t epoch = 0;  ///< measured last
    std::vector<double> losses;
    double violation = 0;
    bool failed = false;  ///< what it measured last is no number
    bool rests = false;
  };

  PopulationMember* find(TrialId trial) {
    const auto it = members_.find(trial);
    return it == members_.end() ? nullptr : &it->second;
  }

  void join(const study::Proposed& proposed) {
    if (proposed.trial.value >= study::kFirstEarlierTrialId) return;
    ++begun_;
    members_[proposed.trial] = {.proposal = proposed.proposal, .nature = nature_of(proposed.proposal), .losses = {}};
  }

  void measure(const study::Measurement& m) {
    PopulationMember* member = find(m.trial);
    if (member == nullptr) return;
    member->epoch = m.epoch;
    member->losses = study::losses(on_, m);
    member->violation = study::violation(constraints_, m, member->proposal.sample);
    const auto train = m.metrics.find("train_loss");
    const auto is_number = [](double value) { return std::isfinite(value); };
    member->failed =
        !std::ranges::all_of(member->losses, is_number) || (train != m.metrics.end() && !is_number(train->second));
  }

  void go_on(const study::Resumed& resumed) {
    closed_ = true;  // whoever is not here yet comes too late
    PopulationMember* member = find(resumed.trial);
    if (member == nullptr) return;
    member->rests = false;
    if (!resumed.fork) return;
    member->proposal.sample = resumed.fork->sample;
    member->failed = false;
  }

  void leave(const study::Ended& ended) {
    const auto member = members_.extract(ended.trial);
    // A duplicate's place is free: its result stands elsewhere.
    if (member && ended.outcome.kind == study::OutcomeKind::kDuplicate) --begun_;
  }

  /// Of each that is to fork from another, in the order of trials.
  std::map<TrialId, study::Fork> forks_of(const std::vector<TrialId>& there, std::int64_t epoch) const {
    RungRanking ladder;
    std::vector<TrialId> failed;
    for (const TrialId trial : there) {
      const PopulationMember& member = members_.at(trial);
      if (member.failed) failed.push_back(trial);
      if (!member.failed) ladder.add(trial, member.losses, member.violation);
    }
    const std::vector<TrialId> ranked = ladder.best(std::ssize(there));  // the best first
    const auto places = static_cast<std::size_t>(pbt_quantile(std::ssize(there), settings_.quantile));
    const std::size_t top = std::min(places, ranked.size());
    // Those without a number are behind all others, and all of them go.
    std::vector<TrialId> bottom = failed;
    for (std::size_t i = ranked.size(); i > top && bottom.size() < places; --i) bottom.push_back(ranked[i - 1]);
    std::map<TrialId, study::Fork> out;
    for (const TrialId trial : bottom) {
      std::vector<TrialId> sources(ranked.begin(), ranked.begin() + static_cast<std::ptrdiff_t>(top));
      std::erase_if(sources, [&](TrialId from) { return members_.at(from).nature != members_.at(trial).nature; });
      if (sources.empty()) continue;
      const Rng own = rng_.split(static_cast<std::uint64_t>(epoch)).split(trial.value);
      const TrialId from = sources[own.split("from").below(sources.size())];
      out[trial] = {from, epoch, perturbed_sample(members_.at(from).proposal, own.split("explore")), ""};
    }
    return out;
  }

  /// What cannot change stays. Of draws the first that keeps to the constraints that are known before training; where
  /// none does, the parent's own.
  space::Sample perturbed_sample(const study::Proposal& parent, const Rng& rng) const {
    study::Proposal child = parent;
    for (std::uint64_t draw = 0; draw < static_cast<std::uint64_t>(kMaxAttempts); ++draw) {
      child.sample = explored(params_, parent.sample, settings_.explore, rng.split(draw));
      for (const auto& [name, value] : parent.sample) {
        if (!study::can_change_in_training(name)) child.sample[name] = value;
      }
      if (!filter_.violated_constraint(child)) return child.sample;
    }
    return parent.sample;
  }

  Settings settings_;
  space::SearchSpace params_;
  std::vector<study::Goal> on_;
  std::vector<study::Constraint> constraints_;
  ConstraintFilter filter_;
  Rng rng_;
  std::map<TrialId, PopulationMember> members_;  ///< that have not ended
  std::int64_t begun_ = 0;
  bool closed_ = false;  ///< the first generation is over
};

class PbtHalving final : public Halving {
 public:
  explicit PbtHalving(std::shared_ptr<const Population> population) : population_(std::move(population)) {}

  void observe(const study::Event&) override {}  // the sampler hears them for both

  TrialVerdict verdict(TrialId trial) const override {
    TrialVerdict trial_verdict = kContinueToBudget;
    trial_verdict.tolerates_divergence = population_->tolerates_divergence(trial);
    return trial_verdict;
  }

  void assign_budgets(std::vector<study::Proposal>& fresh) const override {
    fresh.resize(static_cast<std::size_t>(std::min(std::ssize(fresh), population_->room())));
    for (study::Proposal& proposal : fresh) {
      proposal.horizon = population_->epochs();
      proposal.budget = population_->first_budget();
    }
  }

  Promotions advance(std::int64_t, bool has_new_trials) const override {
    const std::int64_t room = population_->room();
    if (room > 0 && has_new_trials) return {{}, room};
    return {population_->next(), room};
  }

 private:
  std::shared_ptr<const Population> population_;
};

class Pbt final : public ReplayableSampler {
 public:
  Pbt(const Context& context, Population::Settings settings, std::vector<study::Goal> on)
      : ReplayableSampler(context),
        proposal_sampler_(context, {}),
        population_(std::make_shared<Population>(settings, context, std::move(on))) {}
  std::string_view name() const override { return "pbt"; }
  std::unique_ptr<Halving> own_halving() const override { return std::make_unique<PbtHalving>(population_); }

 protected:
  Result<std::optional<study::Proposal>> next(std::uint64_t, const Rng& rng, const DuplicateFilter& duplicates) const override {
    return random_unique(proposal_sampler_, rng, duplicates);
  }
  void fold_event(const study::Event& event) override { population_->observe(event); }

 private:
  ProposalSampler proposal_sampler_;
  std::shared_ptr<Population> population_;
};

Result<std::unique_ptr<Sampler>> make_pbt(const Context& context, const Options& options) {
  const auto refused = [](const std::string& what, const std::string& where) {
    return Error{Code::kInvalidArgument, what, where};
  };
  if (context.goals.empty()) return refused("pbt needs a goal to compare members by", "on");
  Population::Settings settings;
  settings.size = options.at("population").get<std::int64_t>();
  settings.interval = options.at("interval").get<std::int64_t>();
  settings.quantile = options.at("quantile").get<double>();
  settings.explore.resample = options.at("resample").get<double>();
  settings.epochs = context.epochs;
  if (settings.interval >= settings.epochs && settings.epochs > 1) {
    return refused("interval is " + std::to_string(settings.interval) + "; it must be below the trials' " +
                       std::to_string(settings.epochs) + " epochs, so that somebody can fork",
                   "interval");
  }
  const auto factors = options.at("factors").get<std::vector<double>>();
  if (factors.size() != 2 || factors[0] >= 1 || factors[1] <= 1) {
    return refused("factors is " + options.at("factors").dump() + "; it must be [below 1, above 1]", "factors");
  }
  settings.explore.down = factors[0];
  settings.explore.up = factors[1];
  return std::unique_ptr<Sampler>(
      std::make_unique<Pbt>(context, settings, comparison_goals(context.goals, options.at("on").get<std::string>())));
}

}  // namespace

std::int64_t pbt_quantile(std::int64_t members, double quantile) {
  // A product such as 20 x 0.15 lies a hair above the whole number that is meant.
  const double wanted = std::ceil(static_cast<double>(members) * quantile - 1e-9);
  return std::min(static_cast<std::int64_t>(wanted), members / 2);
}

StrategyPlugin pbt_plugin() {
  StrategyPlugin plugin{
      "pbt",
      "population based training: after each interval the worst members continue from the state of the best, with "
      "changed hyper-parameters; it has its own halving",
      {number_option("population", OptionSpec::Kind::kInt, 8, 2, 100'000, "number of members, each a trial"),
       count_option("interval", 1, 1, "epochs between generations"),
       number_option("quantile", OptionSpec::Kind::kReal, 0.25, 0, 0.5,
                     "share of members that fork, and of members that they fork from (0.2 in the paper)"),
       number_option("resample", OptionSpec::Kind::kReal, 0.25, 0, 1,
                     "probability that a hyper-parameter of a fork is sampled again"),
       number_option("factors", OptionSpec::Kind::kRealList, {0.8, 1.2}, 1e-6, 1e6,
                     "factors of a hyper-parameter that is not sampled again, with equal probability"),
       text_option("on", "", "metric to compare by; empty: the goals, several of them by Pareto fronts"),
       text_option("fixed", "refuse",
                   "models or hyper-parameters that cannot change in training: refuse: they must not vary; keep: "
                   "members fork among those that agree in them",
                   {"refuse", "keep"})},
      make_pbt};
  plugin.has_own_halving = plugin.forks = true;
  return plugin;
}

}  // namespace lanista::strategy
