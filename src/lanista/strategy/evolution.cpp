#include <algorithm>
#include <deque>

#include "lanista/strategy/builtin.h"
#include "lanista/strategy/draw.h"
#include "lanista/strategy/history.h"
#include "lanista/study/pareto.h"

namespace lanista::strategy {
namespace {

struct Settings {
  std::int64_t population = 24;
  std::int64_t tournament = 6;
  double p_model = 0.8;
  double p_param = 0.5;
  MutationCount mutations;
};

/// Keeps the parent's values where they still fit and draws one parameter anew.
class RedrawChooser final : public space::Chooser {
 public:
  RedrawChooser(const space::Sample& parent, std::string target, Rng rng)
      : parent_(parent), target_(std::move(target)), rng_(rng) {}

 protected:
  std::int64_t pick_index(std::string_view label, std::int64_t count) override {
    return space::RandomChooser(rng_.split(label)).index(label, count);
  }
  space::Value pick_value(std::string_view label, const space::Domain& domain) override {
    const auto old = parent_.find(std::string(label));
    const bool fits = old != parent_.end() && space::domain_contains(domain, old->second);
    if (fits && label != target_) return old->second;
    space::RandomChooser random(rng_.split(label));
    space::Value value = random.draw(label, domain);
    // A draw that changes nothing is no mutation; a domain of one value has no other.
    for (int i = 0; fits && value == old->second && i < 16; ++i) value = random.draw(label, domain);
    return value;
  }

 private:
  const space::Sample& parent_;
  std::string target_;
  Rng rng_;
};

/// Regularised evolution (Real et al., AAAI'19): the parent is the best of a random tournament among the last
/// `population` trials that ended, whatever their fitness; old age is the only way out. With several goals fitness is
/// the non-dominated front.
class Evolution final : public Folding {
 public:
  Evolution(const Context& context, std::unique_ptr<StoppingRule> rule, const Settings& settings)
      : Folding(context, std::move(rule)),
        settings_(settings),
        drawer_(context, settings.mutations),
        history_(context.goals) {}
  std::string_view name() const override { return "evolution"; }

 protected:
  Result<std::optional<study::Proposal>> next(std::uint64_t index, const Rng& rng, const Taken& taken) const override {
    const auto random = [this](const Rng& r) { return drawer_.random(r); };
    if (index >= static_cast<std::uint64_t>(settings_.population) && can_vary() && has_parent()) {
      const std::vector<std::int64_t> ranks = fitness();
      auto born = first_new(rng.split("child"), taken, [&](const Rng& r) { return child(r, ranks); });
      if (born) return std::optional(*std::move(born));
      if (born.error().code != Code::kResourceExhausted) return std::move(born).error();
      // Every neighbour of the population is known: look elsewhere.
    }
    LANISTA_ASSIGN(auto proposal, first_new(rng.split("random"), taken, random));
    return std::optional(std::move(proposal));
  }

  void fold(const study::Event& event) override {
    auto ended = history_.observe(event);
    if (!ended) return;
    members_.push_back(*std::move(ended));
    if (static_cast<std::int64_t>(members_.size()) > settings_.population) members_.pop_front();
  }

 private:
  bool can_vary() const { return context().models->mutator_count() > 0 || !context().params.parameters().empty(); }
  bool has_parent() const {
    return std::any_of(members_.begin(), members_.end(), [](const Observation& m) { return !m.losses.empty(); });
  }
  std::vector<std::int64_t> fitness() const {
    std::vector<std::vector<double>> points;
    for (const Observation& member : members_) points.push_back(member.losses);
    return study::non_dominated_ranks(points);
  }

  const Observation& select(const Rng& rng, const std::vector<std::int64_t>& ranks) const {
    const auto n = static_cast<std::uint32_t>(members_.size());
    const auto k = static_cast<std::uint32_t>(std::min<std::int64_t>(settings_.tournament, n));
    Rng draw = rng;
    std::vector<std::uint32_t> entered = draw.sample_without_replacement(n, k);
    return members_[*std::min_element(entered.begin(), entered.end(), [&](std::uint32_t a, std::uint32_t b) {
      return std::pair(ranks[a], members_[a].trial) < std::pair(ranks[b], members_[b].trial);
    })];
  }

  Result<study::Proposal> child(const Rng& rng, const std::vector<std::int64_t>& ranks) const {
    const Observation& parent = select(rng.split("tournament"), ranks);
    const bool has_params = !parent.proposal.sample.empty();
    const bool has_mutators = context().models->mutator_count() > 0;
    const bool vary_model = has_mutators && (!has_params || rng.split("model?").bernoulli(settings_.p_model));
    const bool vary_params = has_params && (!vary_model || rng.split("param?").bernoulli(settings_.p_param));

    space::Sample sample = parent.proposal.sample;
    if (vary_params) {
      auto target = sample.begin();
      std::advance(target, static_cast<std::ptrdiff_t>(rng.split("which").below(sample.size())));
      RedrawChooser choose(parent.proposal.sample, target->first, rng.split("value"));
      sample = context().params.draw(choose);
    }
    study::Proposal out = parent.proposal;
    if (vary_model) {
      LANISTA_ASSIGN(const mutate::Candidate before, candidate(parent.proposal));
      LANISTA_ASSIGN(const mutate::Candidate mutated, context().models->mutate(before, 1, rng.split("mutate")));
      out = drawer_.proposal(mutated, {});
    }
    out.sample = std::move(sample);
    out.budget = context().epochs;
    out.parent = parent.trial;
    return out;
  }

  Result<mutate::Candidate> candidate(const study::Proposal& proposal) const {
    LANISTA_ASSIGN(graph::Graph graph, context().models->rebuild(proposal.base, proposal.edits));
    return mutate::Candidate{proposal.base, proposal.steps, proposal.edits, std::move(graph), proposal.graph_hash};
  }

  Settings settings_;
  Drawer drawer_;
  History history_;
  std::deque<Observation> members_;  ///< in the order in which they ended
};

}  // namespace

StrategyPlugin evolution_plugin() {
  using Kind = OptionSpec::Kind;
  return {
      "evolution",
      "regularised evolution: mutate the best of a tournament among the youngest trials",
      {number_option("population", Kind::kInt, 24, 1, 10'000, "trials that may be parents; the first ones are random"),
       number_option("tournament", Kind::kInt, 6, 1, 10'000, "trials of which the best becomes the parent"),
       number_option("p_model", Kind::kReal, 0.8, 0, 1, "probability that a child's model is mutated"),
       number_option("p_param", Kind::kReal, 0.5, 0, 1, "probability that one of its hyper-parameters is drawn anew"),
       mutation_count_option()},
      [](const Context& context, const Options& options,
         std::unique_ptr<StoppingRule> rule) -> Result<std::unique_ptr<Strategy>> {
        Settings settings;
        settings.population = options.at("population").get<std::int64_t>();
        settings.tournament = options.at("tournament").get<std::int64_t>();
        settings.p_model = options.at("p_model").get<double>();
        settings.p_param = options.at("p_param").get<double>();
        LANISTA_ASSIGN(settings.mutations, mutation_count(options));
        return std::unique_ptr<Strategy>(std::make_unique<Evolution>(context, std::move(rule), settings));
      }};
}

}  // namespace lanista::strategy
