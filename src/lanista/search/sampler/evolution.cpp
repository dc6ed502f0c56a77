#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "lanista/base/check.h"
#include "lanista/model/graph/infer.h"
#include "lanista/search/sampler/builtin.h"
#include "lanista/search/sampler/learning_sampler.h"

namespace lanista::search {
namespace {

struct Settings {
  std::int64_t population = 0, tournament = 0;
  double p_model = 0, p_param = 0, parsimony = 0;
  MutationCount mutations;
};

/// Keeps the parent's values where they are still valid and samples the target parameters again.
class ResampleChooser final : public space::Chooser {
 public:
  ResampleChooser(const space::Sample& parent, std::set<std::string> targets, Rng rng)
      : parent_(parent), targets_(std::move(targets)), rng_(rng) {}

 protected:
  std::int64_t pick_index(std::string_view label, std::int64_t count) override {
    return space::RandomChooser(rng_.split(label)).index(label, count);
  }
  space::Value pick_value(std::string_view label, const space::Domain& domain) override {
    const auto old = parent_.find(std::string(label));
    const bool fits = old != parent_.end() && space::domain_contains(domain, old->second);
    if (fits && !targets_.contains(std::string(label))) return old->second;
    space::RandomChooser random(rng_.split(label));
    space::Value value = random.sample_value(label, domain);
    // A sample equal to the old value is no mutation. A domain of one value has no other.
    for (int i = 0; fits && value == old->second && i < 16; ++i) value = random.sample_value(label, domain);
    return value;
  }

 private:
  const space::Sample& parent_;
  std::set<std::string> targets_;
  Rng rng_;
};

/// Regularised evolution (Real et al., AAAI'19). The parent is the best of a random tournament among the last
/// `population` trials that ended with a result. The oldest member leaves, whatever its fitness. Failed trials are no
/// members.
///
/// Fitness is the rank at equal fidelity (history.h), with several goals by fronts. With `parsimony`, ranks are put in
/// buckets, and in a bucket the model with the fewest parameters wins (bucketed lexicographic parsimony; Luke and
/// Panait, GECCO'02). So a larger model must be better by at least a bucket.
class Evolution final : public LearningSampler<Settings> {
 public:
  using LearningSampler::LearningSampler;

 protected:
  NextProposal next(std::uint64_t index, const Rng& rng, const DuplicateFilter& duplicates) const override {
    if (index >= static_cast<std::uint64_t>(settings_.population) && can_vary() && !members_.empty()) {
      const std::vector<std::int64_t> ranks = ranks_at_equal_fidelity(members_);
      return unique_or_random(proposal_sampler_, rng, duplicates, rng.split("child"),
                              [&](const Rng& r) { return child(r, ranks); });
    }
    return random_unique(proposal_sampler_, rng, duplicates);
  }

  void fold_event(const study::Event& event) override {
    auto ended = history_.observe(event);
    if (!ended || ended->losses.empty()) return;
    const bool is_update = ended->is_update;
    const bool is_new = insert_or_replace(members_, *std::move(ended)).second;
    if (is_new && is_update) members_.pop_back();  // It was removed before it resumed.
    if (static_cast<std::int64_t>(members_.size()) > settings_.population) members_.pop_front();
    if (settings_.parsimony > 0) count_parameters();
  }

 private:
  bool can_vary() const { return context().models->mutator_count() > 0 || !context().params.parameters().empty(); }
  const Observation& select(const Rng& rng, const std::vector<std::int64_t>& ranks) const {
    const auto n = static_cast<std::uint32_t>(members_.size());
    const auto k = static_cast<std::uint32_t>(std::min<std::int64_t>(settings_.tournament, n));
    Rng sampling_rng = rng;
    std::vector<std::uint32_t> entered = sampling_rng.sample_without_replacement(n, k);
    const auto key = [&](std::uint32_t i) {
      const TrialId trial = members_[i].trial;
      if (settings_.parsimony <= 0) return std::tuple(ranks[i], std::int64_t{0}, trial);
      return std::tuple(ranks[i] / bucket(), parameters_.at(trial), trial);
    };
    return members_[*std::min_element(entered.begin(), entered.end(),
                                      [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); })];
  }

  /// Returns the number of ranks in a bucket.
  std::int64_t bucket() const {
    const double num_ranks = settings_.parsimony * static_cast<double>(settings_.population);
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(num_ranks));
  }
  /// Counts the parameters of new members and removes those of former members.
  void count_parameters() {
    std::map<TrialId, std::int64_t> old = std::exchange(parameters_, {});
    for (const Observation& member : members_) {
      if (const auto known = old.find(member.trial); known != old.end()) {
        parameters_.insert(*known);
        continue;
      }
      const auto model = context().models->rebuild(member.proposal.base, member.proposal.edits);
      LANISTA_CHECK(model.ok(), "the edits of a member do not apply");
      const auto cost = graph::model_cost(*model, context().models->ops());
      LANISTA_CHECK(cost.ok(), "the model of a member has no cost");
      parameters_.emplace(member.trial, cost->parameters);
    }
  }

  Result<study::Proposal> child(const Rng& rng, const std::vector<std::int64_t>& ranks) const {
    const Observation& parent = select(rng.split("tournament"), ranks);
    const space::Sample& values = parent.proposal.sample;
    const std::vector<std::string> choices = names_of(values, true), params = names_of(values, false);
    const bool has_mutators = context().models->mutator_count() > 0;
    const bool has_model = has_mutators || !choices.empty();
    const bool vary_model = has_model && (params.empty() || rng.split("model?").bernoulli(settings_.p_model));
    const bool vary_params = !params.empty() && (!vary_model || rng.split("param?").bernoulli(settings_.p_param));
    // A model varies by a mutation or by another choice. If both are possible, each has probability 1/2.
    const bool mutate = vary_model && has_mutators && (choices.empty() || rng.split("mutate?").bernoulli(0.5));

    std::set<std::string> targets;
    const auto pick = [&](const std::vector<std::string>& names, const char* stream) {
      targets.insert(names[rng.split(stream).below(names.size())]);
    };
    if (vary_params) pick(params, "which");
    if (vary_model && !mutate) pick(choices, "which choice");
    space::Sample sample = values;
    if (!targets.empty()) {
      ResampleChooser choose(values, targets, rng.split("value"));
      sample = context().params.sample(choose);
    }
    LANISTA_ASSIGN(mutate::Candidate model, proposal_sampler_.resampled_model(parent.proposal, sample));
    if (mutate) {
      LANISTA_ASSIGN(model, context().models->mutate(model, 1, rng.split("mutate")));
    }
    study::Proposal out = proposal_sampler_.proposal(model, std::move(sample));
    out.parent = parent.trial;
    return out;
  }

  static std::vector<std::string> names_of(const space::Sample& sample, bool of_model) {
    std::vector<std::string> names;
    for (const auto& [name, value] : sample) {
      if (space::is_model_choice(name) == of_model) names.push_back(name);
    }
    return names;
  }

  std::deque<Observation> members_;             ///< Members in the order of their ends.
  std::map<TrialId, std::int64_t> parameters_;  ///< Parameters of the members' models, with parsimony.
};

}  // namespace

StrategyPlugin evolution_plugin() {
  using Kind = OptionSpec::Kind;
  return learning_plugin<Evolution, Settings>(
      "evolution", "regularised evolution: mutates the best of a tournament among the youngest trials",
      {{&Settings::population, number_option("population", Kind::kInt, 24, 1, 10'000,
                                             "number of trials that may be parents; the first ones "
                                             "are random")},
       {&Settings::tournament,
        number_option("tournament", Kind::kInt, 6, 1, 10'000, "number of trials of which the best becomes the parent")},
       {&Settings::p_model,
        number_option("p_model", Kind::kReal, 0.8, 0, 1, "probability that a child's model is mutated")},
       {&Settings::p_param, number_option("p_param", Kind::kReal, 0.5, 0, 1,
                                          "probability that a hyper-parameter of a child is "
                                          "sampled again")},
       {&Settings::parsimony,
        number_option("parsimony", Kind::kReal, 0, 0, 1,
                      "share of the population with ranks that count as equal, so that the smaller model wins; 0: "
                      "size does not count")}});
}

}  // namespace lanista::search
