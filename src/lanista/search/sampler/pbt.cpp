// Population based training: members continue from the state of better ones, with settings near theirs.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "lanista/search/halving/rung_ranking.h"
#include "lanista/search/sampler/builtin.h"
#include "lanista/search/sampler/constraint_filter.h"
#include "lanista/search/sampler/perturbation.h"
#include "lanista/search/sampler/proposal_sampler.h"
#include "lanista/search/study/earlier_study.h"
#include "lanista/search/study/pareto.h"

namespace lanista::search {
namespace {

/// Returns the key of what is fixed for a trial: its model and the hyper-parameters that cannot change while it trains.
/// Trials with equal keys can continue from each other's state.
Digest fixed_key_of(const study::Proposal& proposal) {
  space::Sample fixed = proposal.sample;
  std::erase_if(fixed, [](const auto& entry) { return study::can_change_in_training(entry.first); });
  return Hasher().digest(proposal.graph_hash).digest(space::hash_sample(fixed)).finish();
}

/// The generations of population based training (Jaderberg et al. 2017). They depend only on the events.
///
/// All members train an interval and pause. Then the members of the bottom quantile, and all with NaN or infinite
/// losses, continue from the state of a member of the top quantile. Their hyper-parameters are those of that member,
/// perturbed or sampled again. The others continue unchanged.
class Population {
 public:
  struct Settings {
    std::int64_t size = 8, interval = 1, epochs = 1;
    double quantile = 0.25;
    Exploration explore;
  };

  Population(Settings settings, const Context& context, std::vector<study::Goal> goals)
      : settings_(settings),
        params_(context.params),
        goals_(std::move(goals)),
        constraints_(context.constraints),
        filter_(context),
        rng_(context.rng.split("generations")) {}

  void observe(const study::Event& event) {
    if (const auto* proposed = std::get_if<study::Proposed>(&event)) add_member(*proposed);
    if (const auto* measured = std::get_if<study::Measured>(&event)) record(measured->measurement);
    if (const auto* paused = std::get_if<study::Paused>(&event)) {
      if (PopulationMember* member = find(paused->trial)) member->is_paused = true;
    }
    if (const auto* resumed = std::get_if<study::Resumed>(&event)) resume_member(*resumed);
    if (const auto* ended = std::get_if<study::Ended>(&event)) remove_member(*ended);
  }

  /// Returns how many new members may begin. None may begin after the first generation.
  std::int64_t num_vacancies() const { return closed_ ? 0 : std::max<std::int64_t>(0, settings_.size - num_begun_); }
  std::int64_t first_budget() const { return std::min(settings_.interval, settings_.epochs); }
  std::int64_t epochs() const { return settings_.epochs; }

  /// True while another member has a finite loss, from which a diverged one can continue.
  bool tolerates_divergence(TrialId trial) const {
    return std::ranges::any_of(members_, [&](const auto& m) { return m.first != trial && !m.second.failed; });
  }

  /// Returns the next generation, or nothing while a member trains.
  std::vector<lanista::search::Member> next() const {
    if (members_.empty()) return {};
    std::int64_t epoch = std::numeric_limits<std::int64_t>::max();
    for (const auto& [trial, member] : members_) {
      if (!member.is_paused) return {};
      epoch = std::min(epoch, member.epoch);
    }
    std::vector<TrialId> arrived;  // Members at the lowest epoch, usually all of them.
    for (const auto& [trial, member] : members_) {
      if (member.epoch == epoch) arrived.push_back(trial);
    }
    const std::int64_t budget = std::min(epoch + settings_.interval, settings_.epochs);
    std::map<TrialId, study::Fork> forks = forks_of(arrived, epoch);
    // A fork comes before its source, which stays paused until then.
    std::vector<lanista::search::Member> group;
    for (const auto& [trial, fork] : forks) group.emplace_back(ResumeTrial{trial, budget, fork});
    for (const TrialId trial : arrived) {
      if (!forks.contains(trial)) group.emplace_back(ResumeTrial{trial, budget});
    }
    return group;
  }

 private:
  struct PopulationMember {
    study::Proposal proposal;  ///< With its current hyper-parameters.
    Digest fixed_key;
    std::int64_t epoch = 0;  ///< Last epoch that was measured.
    std::vector<double> losses;
    double violation = 0;
    bool failed = false;  ///< Whether its last measurement has a NaN or an infinity.
    bool is_paused = false;
  };

  PopulationMember* find(TrialId trial) {
    const auto it = members_.find(trial);
    return it == members_.end() ? nullptr : &it->second;
  }

  void add_member(const study::Proposed& proposed) {
    if (proposed.trial.value >= study::kFirstEarlierTrialId) return;
    ++num_begun_;
    members_[proposed.trial] = {
        .proposal = proposed.proposal, .fixed_key = fixed_key_of(proposed.proposal), .losses = {}};
  }

  void record(const study::Measurement& m) {
    PopulationMember* member = find(m.trial);
    if (member == nullptr) return;
    member->epoch = m.epoch;
    member->losses = study::losses(goals_, m);
    member->violation = study::violation(constraints_, m, member->proposal.sample);
    const auto train = m.metrics.find("train_loss");
    const auto is_number = [](double value) { return std::isfinite(value); };
    member->failed =
        !std::ranges::all_of(member->losses, is_number) || (train != m.metrics.end() && !is_number(train->second));
  }

  void resume_member(const study::Resumed& resumed) {
    closed_ = true;  // No member may join after the first generation.
    PopulationMember* member = find(resumed.trial);
    if (member == nullptr) return;
    member->is_paused = false;
    if (!resumed.fork) return;
    member->proposal.sample = resumed.fork->sample;
    member->failed = false;
  }

  void remove_member(const study::Ended& ended) {
    const auto member = members_.extract(ended.trial);
    // A duplicate does not count as a member, because the trial that it repeats has the result.
    if (member && ended.outcome.kind == study::OutcomeKind::kDuplicate) --num_begun_;
  }

  /// Returns the forks of the next generation, by the trial that forks.
  std::map<TrialId, study::Fork> forks_of(const std::vector<TrialId>& arrived, std::int64_t epoch) const {
    RungRanking ranking;
    std::vector<TrialId> failed;
    for (const TrialId trial : arrived) {
      const PopulationMember& member = members_.at(trial);
      if (member.failed) failed.push_back(trial);
      if (!member.failed) ranking.add(trial, member.losses, member.violation);
    }
    const std::vector<TrialId> ranked = ranking.best(std::ssize(arrived));  // The best first.
    const auto quantile = static_cast<std::size_t>(pbt_quantile(std::ssize(arrived), settings_.quantile));
    const std::size_t top = std::min(quantile, ranked.size());
    // Diverged members are last, and all of them fork.
    std::vector<TrialId> bottom = failed;
    for (std::size_t i = ranked.size(); i > top && bottom.size() < quantile; --i) bottom.push_back(ranked[i - 1]);
    std::map<TrialId, study::Fork> out;
    for (const TrialId trial : bottom) {
      std::vector<TrialId> sources(ranked.begin(), ranked.begin() + static_cast<std::ptrdiff_t>(top));
      std::erase_if(sources, [&](TrialId from) { return members_.at(from).fixed_key != members_.at(trial).fixed_key; });
      if (sources.empty()) continue;
      const Rng own = rng_.split(static_cast<std::uint64_t>(epoch)).split(trial.value);
      const TrialId from = sources[own.split("from").below(sources.size())];
      out[trial] = {from, epoch, perturbed_sample(members_.at(from).proposal, own.split("explore")), ""};
    }
    return out;
  }

  /// Returns the first perturbed sample that meets the constraints known before training, else the parent's sample.
  /// Hyper-parameters that cannot change in training keep their values.
  space::Sample perturbed_sample(const study::Proposal& parent, const Rng& rng) const {
    study::Proposal child = parent;
    for (std::uint64_t attempt = 0; attempt < static_cast<std::uint64_t>(kMaxAttempts); ++attempt) {
      child.sample = explored(params_, parent.sample, settings_.explore, rng.split(attempt));
      for (const auto& [name, value] : parent.sample) {
        if (!study::can_change_in_training(name)) child.sample[name] = value;
      }
      if (!filter_.violated_constraint(child)) return child.sample;
    }
    return parent.sample;
  }

  Settings settings_;
  space::SearchSpace params_;
  std::vector<study::Goal> goals_;
  std::vector<study::Constraint> constraints_;
  ConstraintFilter filter_;
  Rng rng_;
  std::map<TrialId, PopulationMember> members_;  ///< Members that have not ended.
  std::int64_t num_begun_ = 0;
  bool closed_ = false;  ///< Whether the first generation is over.
};

/// The halving of population based training, over the shared population.
class PbtHalving final : public Halving {
 public:
  explicit PbtHalving(std::shared_ptr<const Population> population) : population_(std::move(population)) {}

  void observe(const study::Event&) override {}  // The sampler passes the events to the shared population.

  TrialVerdict verdict(TrialId trial) const override {
    TrialVerdict trial_verdict = kContinueToBudget;
    trial_verdict.tolerates_divergence = population_->tolerates_divergence(trial);
    return trial_verdict;
  }

  void assign_budgets(std::vector<study::Proposal>& fresh) const override {
    fresh.resize(static_cast<std::size_t>(std::min(std::ssize(fresh), population_->num_vacancies())));
    for (study::Proposal& proposal : fresh) {
      proposal.horizon = population_->epochs();
      proposal.budget = population_->first_budget();
    }
  }

  Promotions advance(std::int64_t, bool has_new_trials) const override {
    const std::int64_t vacancies = population_->num_vacancies();
    if (vacancies > 0 && has_new_trials) return {{}, vacancies};
    return {population_->next(), vacancies};
  }

 private:
  std::shared_ptr<const Population> population_;
};

/// The sampler of population based training: random members, then no new ones.
class Pbt final : public ReplayableSampler {
 public:
  Pbt(const Context& context, Population::Settings settings, std::vector<study::Goal> on)
      : ReplayableSampler(context),
        proposal_sampler_(context, {}),
        population_(std::make_shared<Population>(settings, context, std::move(on))) {}
  std::string_view name() const override { return "pbt"; }
  std::unique_ptr<Halving> own_halving() const override { return std::make_unique<PbtHalving>(population_); }

 protected:
  NextProposal next(std::uint64_t, const Rng& rng, const DuplicateFilter& duplicates) const override {
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
                       std::to_string(settings.epochs) + " epochs, so that members can fork",
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
  // A product such as 20 x 0.15 may be above the whole number by rounding.
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

}  // namespace lanista::search
