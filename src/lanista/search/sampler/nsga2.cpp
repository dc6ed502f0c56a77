#include <algorithm>

#include "lanista/search/sampler/builtin.h"
#include "lanista/search/sampler/learning_sampler.h"
#include "lanista/search/study/pareto.h"

namespace lanista::search {
namespace {

struct Settings {
  std::int64_t population = 0;
  double p_crossover = 0, p_swap = 0;
  double p_mutation = 0;  ///< 0 means one over the number of genes.
  MutationCount mutations;
};

/// Uniform crossover: each value comes from one of two parents or is sampled again.
class CrossChooser final : public space::Chooser {
 public:
  CrossChooser(const space::Sample& first, const space::Sample& second, double p_swap, double p_mutation, Rng rng)
      : first_(first), second_(second), p_swap_(p_swap), p_mutation_(p_mutation), rng_(rng) {}

 protected:
  std::int64_t pick_index(std::string_view label, std::int64_t count) override {
    return space::RandomChooser(rng_.split(label)).index(label, count);
  }
  space::Value pick_value(std::string_view label, const space::Domain& domain) override {
    const Rng rng = rng_.split(label);
    if (!rng.split("mutate?").bernoulli(p_mutation_)) {
      const bool swap = rng.split("swap?").bernoulli(p_swap_);
      for (const space::Sample* parent : {swap ? &second_ : &first_, swap ? &first_ : &second_}) {
        const auto gene = parent->find(std::string(label));
        if (gene != parent->end() && space::domain_contains(domain, gene->second)) return gene->second;
      }
    }
    return space::RandomChooser(rng.split("value")).sample_value(label, domain);
  }

 private:
  const space::Sample& first_;
  const space::Sample& second_;
  double p_swap_, p_mutation_;
  Rng rng_;
};

/// NSGA-II (Deb et al., 2002) with the defaults of Optuna in its steady-state form (Nebro & Durillo, 2009), so that no
/// slot waits for a generation. After each trial that ends, the worst member leaves: by front at equal fidelity
/// (constrained domination, history.h), then by crowding distance. A trial without results is no member. The model is a
/// gene like a hyper-parameter: two models of one base exchange mutations.
class Nsga2 final : public LearningSampler<Settings> {
 public:
  using LearningSampler::LearningSampler;

 protected:
  NextProposal next(std::uint64_t index, const Rng& rng, const DuplicateFilter& duplicates) const override {
    if (index >= static_cast<std::uint64_t>(settings_.population) && !members_.empty()) {
      return unique_or_random(proposal_sampler_, rng, duplicates, rng.split("child"),
                              [this](const Rng& r) { return child(r); });
    }
    return random_unique(proposal_sampler_, rng, duplicates);
  }

  void fold_event(const study::Event& event) override {
    auto ended = history_.observe(event);
    if (!ended || ended->losses.empty()) return;
    insert_or_replace(members_, *std::move(ended));
    rank();
    if (static_cast<std::int64_t>(members_.size()) <= settings_.population) return;
    members_.erase(members_.begin() + (std::max_element(ranks_.begin(), ranks_.end()) - ranks_.begin()));
    rank();
  }

 private:
  /// Order of members; smaller is better.
  struct RankAndCrowding {
    std::int64_t front = 0;
    double crowded = 0;  ///< Minus the crowding distance.
    TrialId trial;
    auto operator<=>(const RankAndCrowding&) const = default;
  };

  void rank() {
    std::vector<std::vector<double>> points;
    for (const Observation& member : members_) points.push_back(member.losses);
    const std::vector<std::int64_t> front = ranks_at_equal_fidelity(members_);
    const std::vector<double> distances = study::crowding_distances(points, front);
    ranks_.clear();
    for (std::size_t i = 0; i < members_.size(); ++i) {
      ranks_.push_back({front[i], -distances[i], members_[i].trial});
    }
  }

  /// Returns the winner of a binary tournament.
  const Observation& select(Rng rng) const {
    const std::size_t a = rng.below(members_.size());
    const std::size_t b = rng.below(members_.size());
    return members_[ranks_[b] < ranks_[a] ? b : a];
  }

  Result<study::Proposal> child(const Rng& rng) const {
    const Observation& first = select(rng.split("first"));
    const bool cross = rng.split("cross?").bernoulli(settings_.p_crossover);
    const Observation& second = cross ? select(rng.split("second")) : first;
    const bool has_mutators = context().models->mutator_count() > 0;
    const std::size_t genes = first.proposal.sample.size() + (has_mutators ? 1 : 0);
    const double p_mutation =
        settings_.p_mutation > 0 ? settings_.p_mutation : 1.0 / static_cast<double>(std::max<std::size_t>(genes, 1));

    CrossChooser choose(first.proposal.sample, second.proposal.sample, settings_.p_swap, p_mutation,
                        rng.split("sample"));
    space::Sample sample = context().params.sample(choose);
    LANISTA_ASSIGN(mutate::Candidate model, cross_models(first.proposal, second.proposal, sample, rng.split("model")));
    if (has_mutators && rng.split("mutate?").bernoulli(p_mutation)) {
      LANISTA_ASSIGN(model, context().models->mutate(model, 1, rng.split("mutate")));
    }
    study::Proposal out = proposal_sampler_.proposal(model, std::move(sample));
    out.parent = first.trial;
    return out;
  }

  /// Returns the model of a child. Of models with different bases it is one of the two.
  ///
  /// Models of one base keep their common first mutations. Each other mutation of the first parent is left out with
  /// probability `p_swap`, and each one of the second is applied with that probability. Mutations that do not apply are
  /// left out. Over a blueprint, mutations are applied to the model of the child's sample.
  Result<mutate::Candidate> cross_models(const study::Proposal& first, const study::Proposal& second,
                                         const space::Sample& sample, Rng rng) const {
    if (first.base != second.base) return rebuilt(rng.bernoulli(settings_.p_swap) ? second : first);
    if (first.graph_hash == second.graph_hash && first.steps == second.steps)
      return proposal_sampler_.resampled_model(first, sample);
    const auto [rest_a, rest_b] =
        std::mismatch(first.steps.begin(), first.steps.end(), second.steps.begin(), second.steps.end());
    LANISTA_ASSIGN(mutate::Candidate model, proposal_sampler_.model_of_sample(first.base, sample));
    for (auto step = first.steps.begin(); step != rest_a; ++step) LANISTA_TRY(apply(*step, model));
    for (auto step = rest_a; step != first.steps.end(); ++step) {
      if (!rng.bernoulli(settings_.p_swap)) LANISTA_TRY(apply(*step, model));
    }
    for (auto step = rest_b; step != second.steps.end(); ++step) {
      if (rng.bernoulli(settings_.p_swap)) LANISTA_TRY(apply(*step, model));
    }
    return model;
  }

  /// Applies a recorded mutation to the model if it is applicable.
  Result<void> apply(const space::MutationStep& step, mutate::Candidate& model) const {
    space::ReplayChooser choose(step.trace);
    auto mutated = context().models->mutate(model, choose);
    if (!mutated && mutated.error().code != Code::kNotApplicable) return std::move(mutated).error();
    if (mutated && choose.status()) model = *std::move(mutated);
    return {};
  }

  Result<mutate::Candidate> rebuilt(const study::Proposal& proposal) const {
    LANISTA_ASSIGN(graph::Graph graph, context().models->rebuild(proposal.base, proposal.edits));
    return mutate::Candidate{proposal.base, proposal.steps, proposal.edits, std::move(graph), proposal.graph_hash};
  }

  std::vector<Observation> members_;
  std::vector<RankAndCrowding> ranks_;  ///< One per member, in their order.
};

}  // namespace

StrategyPlugin nsga2_plugin() {
  using Kind = OptionSpec::Kind;
  return learning_plugin<Nsga2, Settings>(
      "nsga2",
      "NSGA-II for several goals: crosses trials that no other dominates and keeps the Pareto front spread out",
      {{&Settings::population, number_option("population", Kind::kInt, 50, 2, 10'000,
                                             "number of trials that may be parents; the first ones "
                                             "are random")},
       {&Settings::p_crossover,
        number_option("p_crossover", Kind::kReal, 0.9, 0, 1, "probability that a child has two parents")},
       {&Settings::p_swap,
        number_option("p_swap", Kind::kReal, 0.5, 0, 1, "probability that a decision comes from the second parent")},
       {&Settings::p_mutation,
        number_option("p_mutation", Kind::kReal, 0, 0, 1,
                      "probability that a decision is sampled again or the model mutated; 0: one over the number "
                      "of decisions")}});
}

}  // namespace lanista::search
