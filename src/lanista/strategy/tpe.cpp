#include "lanista/strategy/tpe.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <utility>

#include "lanista/strategy/builtin.h"
#include "lanista/strategy/decisions.h"
#include "lanista/strategy/draw.h"
#include "lanista/strategy/parzen.h"

namespace lanista::strategy {
namespace {

struct Settings {
  std::int64_t startup = 10;
  std::int64_t candidates = 24;
  bool multivariate = true;
  bool constant_liar = true;
  Gamma gamma = Gamma::kLinear;
  MutationCount mutations;
};

/// Tree-structured Parzen estimator (Bergstra et al., NeurIPS'11): of values drawn from the density of good trials it
/// takes the one that is least like the others. Decisions that exist together form a group, which has densities of its
/// own, made from the trials that have it.
class Tpe final : public Folding {
 public:
  Tpe(const Context& context, std::unique_ptr<StoppingRule> rule, const Settings& settings)
      : Folding(context, std::move(rule)),
        settings_(settings),
        drawer_(context, settings.mutations),
        decisions_(context, settings.multivariate),
        history_(context.goals) {}
  std::string_view name() const override { return "tpe"; }

 protected:
  Result<std::optional<study::Proposal>> next(std::uint64_t, const Rng& rng, const Taken& taken) const override {
    if (static_cast<std::int64_t>(ended_.size()) >= settings_.startup && decisions_.size() > 0) {
      const Split split = split_rows(taken);
      Models models;
      auto proposal = first_new(rng.split("model"), taken, [&](const Rng& r) { return draw(r, split, models); });
      if (proposal) return std::optional(*std::move(proposal));
      if (proposal.error().code != Code::kResourceExhausted) return std::move(proposal).error();
      // What the model likes is known: look elsewhere.
    }
    LANISTA_ASSIGN(auto proposal,
                   first_new(rng.split("random"), taken, [this](const Rng& r) { return drawer_.random(r); }));
    return std::optional(std::move(proposal));
  }

  void fold(const study::Event& event) override {
    auto ended = history_.observe(event);
    if (ended && ended->outcome != study::OutcomeKind::kCancelled) ended_.push_back(*std::move(ended));
  }

 private:
  using Rows = std::vector<Decisions::Answers>;
  struct Split {
    Rows below, above;
  };
  struct Pair {
    Parzen below, above;
  };
  using Models = std::map<std::size_t, Pair>;  ///< by group; made when asked for

  Split split_rows(const Taken& taken) const {
    const std::vector<std::size_t> best = best_trials(ended_, good_count(settings_.gamma, ended_.size()));
    std::map<TrialId, const study::Proposal*> good, others;
    for (const std::size_t i : best) good[ended_[i].trial] = &ended_[i].proposal;
    for (const Observation& o : ended_) {
      if (!good.contains(o.trial)) others[o.trial] = &o.proposal;
    }
    Split out;
    if (settings_.constant_liar) {  // what is running counts as bad, so that nobody tries it again next door
      for (const auto& [trial, o] : history_.running()) others[trial] = &o.proposal;
    }
    for (const auto& [trial, proposal] : good) out.below.push_back(decisions_.answers(*proposal));
    for (const auto& [trial, proposal] : others) out.above.push_back(decisions_.answers(*proposal));
    if (settings_.constant_liar) {
      for (const study::Proposal& proposal : taken.group()) out.above.push_back(decisions_.answers(proposal));
    }
    return out;
  }

  Parzen density(std::size_t group, const Rows& rows) const {
    const std::vector<std::size_t>& members = decisions_.groups()[group];
    std::vector<space::Domain> domains;
    for (const std::size_t member : members) domains.push_back(decisions_.domain(member));
    std::vector<std::vector<Place>> places;
    for (const Decisions::Answers& row : rows) {
      if (std::any_of(members.begin(), members.end(), [&](std::size_t m) { return !row[m]; })) continue;
      std::vector<Place> place;
      for (const std::size_t member : members) place.push_back(place_of(decisions_.domain(member), *row[member]));
      places.push_back(std::move(place));
    }
    return Parzen(std::move(domains), places);
  }

  Result<study::Proposal> draw(const Rng& rng, const Split& split, Models& models) const {
    const auto decide = [&](std::size_t group) {
      auto it = models.find(group);
      if (it == models.end()) {
        it = models.emplace(group, Pair{density(group, split.below), density(group, split.above)}).first;
      }
      return best_candidate(it->second, group, rng.split("group").split(group));
    };
    auto [base, sample] = decisions_.decide(decide);
    return drawer_.mutated(base, std::move(sample), rng);
  }

  std::vector<space::Value> best_candidate(const Pair& pair, std::size_t group, const Rng& rng) const {
    const std::vector<std::size_t>& members = decisions_.groups()[group];
    std::vector<space::Value> best;
    double highest = 0;
    for (std::int64_t i = 0; i < settings_.candidates; ++i) {
      std::vector<space::Value> values = pair.below.sample(rng.split(static_cast<std::uint64_t>(i)));
      std::vector<Place> at;
      for (std::size_t k = 0; k < members.size(); ++k) at.push_back(place_of(decisions_.domain(members[k]), values[k]));
      const double gain = pair.below.log_density(at) - pair.above.log_density(at);
      if (best.empty() || gain > highest) {
        best = std::move(values);
        highest = gain;
      }
    }
    return best;
  }

  Settings settings_;
  Drawer drawer_;
  Decisions decisions_;
  History history_;
  std::vector<Observation> ended_;
};

OptionSpec flag(const char* name, bool value, const char* help) {
  OptionSpec spec;
  spec.name = name;
  spec.kind = OptionSpec::Kind::kBool;
  spec.default_value = value;
  spec.help = help;
  return spec;
}

}  // namespace

StrategyPlugin tpe_plugin() {
  using Kind = OptionSpec::Kind;
  OptionSpec gamma;
  gamma.name = "gamma";
  gamma.kind = Kind::kText;
  gamma.default_value = "linear";
  gamma.allowed = {"linear", "sqrt"};
  gamma.help = "good trials among n: min(ceil(n / 10), 25), or min(ceil(sqrt(n) / 4), 25) as in hyperopt";
  return {
      "tpe",
      "tree-structured Parzen estimator: more like good trials, less like the others; mutations are drawn at random",
      {number_option("startup", Kind::kInt, 10, 1, 10'000, "trials that must have ended before the model is used"),
       number_option("candidates", Kind::kInt, 24, 1, 10'000, "draws of which the most promising is proposed"),
       flag("multivariate", true, "model the decisions that exist together jointly, not each on its own"),
       flag("constant_liar", true, "count running trials as bad ones, so that they are not tried again"), gamma,
       mutation_count_option()},
      [](const Context& context, const Options& options,
         std::unique_ptr<StoppingRule> rule) -> Result<std::unique_ptr<Strategy>> {
        Settings settings;
        settings.startup = options.at("startup").get<std::int64_t>();
        settings.candidates = options.at("candidates").get<std::int64_t>();
        settings.multivariate = options.at("multivariate").get<bool>();
        settings.constant_liar = options.at("constant_liar").get<bool>();
        settings.gamma = options.at("gamma") == "sqrt" ? Gamma::kSqrt : Gamma::kLinear;
        LANISTA_ASSIGN(settings.mutations, mutation_count(options));
        return std::unique_ptr<Strategy>(std::make_unique<Tpe>(context, std::move(rule), settings));
      }};
}

}  // namespace lanista::strategy
