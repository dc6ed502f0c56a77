#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "lanista/base/check.h"
#include "lanista/model/graph/infer.h"
#include "lanista/search/sampler/builtin.h"
#include "lanista/search/sampler/proposal_sampler.h"
#include "lanista/search/sampler/history.h"

namespace lanista::strategy {
namespace {

struct Settings {
  std::int64_t population = 24;
  std::int64_t tournament = 6;
  double p_model = 0.8;
  double p_param = 0.5;
  double parsimony = 0;
  MutationCount mutations;
};

/// Keeps the parent's values where they still fit and draws some parameters anew.
class RedrawChooser final : public space::Chooser {
 public:
  RedrawChooser(const space::Sample& parent, std::set<std::string> targets, Rng rng)
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
    space::Value value = random.draw(label, domain);
    // A draw that changes nothing is no mutation; a domain of one value has no other.
    for (int i = 0; fits && value == old->second && i < 16; ++i) value = random.draw(label, domain);
    return value;
  }

 private:
  const space::Sample& parent_;
  std::set<std::string> targets_;
  Rng rng_;
};

/// Regularised evolution (Real et al., AAAI'19): the parent is the best of a random tournament among the last
/// `population` trials that ended with a result, whatever their fitness; old age is the only way out, and a trial that
/// failed ages nobody. Fitness is the rank at equal fidelity (history.h), with several goals by fronts. With
/// `parsimony` ranks that lie close together count as one, and of those the model with the fewest parameters wins
/// (bucketed lexicographic parsimony; Luke and Panait, GECCO'02): what grows has to be better for it.
class Evolution final : public ReplayableSampler {
 public:
  Evolution(const Context& context, const Settings& settings)
      : ReplayableSampler(context), settings_(settings), proposal_sampler_(context, settings.mutations), history_(context) {}
  std::string_view name() const override { return "evolution"; }

 protected:
  Result<std::optional<study::Proposal>> next(std::uint64_t index, const Rng& rng, const DuplicateFilter& duplicates) const override {
    if (index >= static_cast<std::uint64_t>(settings_.population) && can_vary() && !members_.empty()) {
      const std::vector<std::int64_t> standing = ranks_at_equal_fidelity(members_);
      return unique_or_random(proposal_sampler_, rng, duplicates, rng.split("child"), [&](const Rng& r) { return child(r, standing); });
    }
    return random_unique(proposal_sampler_, rng, duplicates);
  }

  void fold_event(const study::Event& event) override {
    auto ended = history_.observe(event);
    if (!ended || ended->losses.empty()) return;
    const bool is_update = ended->is_update;
    const bool is_new = insert_or_replace(members_, *std::move(ended)).second;
    if (is_new && is_update) members_.pop_back();  // too old when it went on; it does not come back
    if (static_cast<std::int64_t>(members_.size()) > settings_.population) members_.pop_front();
    if (settings_.parsimony > 0) weigh();
  }

 private:
  bool can_vary() const { return context().models->mutator_count() > 0 || !context().params.parameters().empty(); }
  const Observation& select(const Rng& rng, const std::vector<std::int64_t>& standing) const {
    const auto n = static_cast<std::uint32_t>(members_.size());
    const auto k = static_cast<std::uint32_t>(std::min<std::int64_t>(settings_.tournament, n));
    Rng draw = rng;
    std::vector<std::uint32_t> entered = draw.sample_without_replacement(n, k);
    const auto place = [&](std::uint32_t i) {
      const TrialId trial = members_[i].trial;
      if (settings_.parsimony <= 0) return std::tuple(standing[i], std::int64_t{0}, trial);
      return std::tuple(standing[i] / bucket(), parameters_.at(trial), trial);
    };
    return members_[*std::min_element(entered.begin(), entered.end(),
                                      [&](std::uint32_t a, std::uint32_t b) { return place(a) < place(b); })];
  }

  /// Ranks that count as one.
  std::int64_t bucket() const {
    const double ranks_at_equal_fidelity = settings_.parsimony * static_cast<double>(settings_.population);
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(ranks_at_equal_fidelity));
  }
  /// Counts the parameters of members that are new, and forgets those of members that are gone.
  void weigh() {
    std::map<TrialId, std::int64_t> old = std::exchange(parameters_, {});
    for (const Observation& member : members_) {
      if (const auto known = old.find(member.trial); known != old.end()) {
        parameters_.insert(*known);
        continue;
      }
      const auto model = context().models->rebuild(member.proposal.base, member.proposal.edits);
      LANISTA_CHECK(model.ok(), "a member's own edits");
      const auto cost = graph::model_cost(*model, context().models->ops());
      LANISTA_CHECK(cost.ok(), "a member's own model");
      parameters_.emplace(member.trial, cost->parameters);
    }
  }

  Result<study::Proposal> child(const Rng& rng, const std::vector<std::int64_t>& standing) const {
    const Observation& parent = select(rng.split("tournament"), standing);
    const space::Sample& values = parent.proposal.sample;
    const std::vector<std::string> choices = names_of(values, true), params = names_of(values, false);
    const bool has_mutators = context().models->mutator_count() > 0;
    const bool has_model = has_mutators || !choices.empty();
    const bool vary_model = has_model && (params.empty() || rng.split("model?").bernoulli(settings_.p_model));
    const bool vary_params = !params.empty() && (!vary_model || rng.split("param?").bernoulli(settings_.p_param));
    // A model varies by a mutation or by another choice; where both can be, one as often as the other.
    const bool mutate = vary_model && has_mutators && (choices.empty() || rng.split("mutate?").bernoulli(0.5));

    std::set<std::string> targets;
    const auto pick = [&](const std::vector<std::string>& names, const char* stream) {
      targets.insert(names[rng.split(stream).below(names.size())]);
    };
    if (vary_params) pick(params, "which");
    if (vary_model && !mutate) pick(choices, "which choice");
    space::Sample sample = values;
    if (!targets.empty()) {
      RedrawChooser choose(values, targets, rng.split("value"));
      sample = context().params.draw(choose);
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

  Settings settings_;
  ProposalSampler proposal_sampler_;
  History history_;
  std::deque<Observation> members_;  ///< in the order in which they ended
  std::map<TrialId, std::int64_t> parameters_;  ///< of the members' models, with parsimony
};

}  // namespace

StrategyPlugin evolution_plugin() {
  using Kind = OptionSpec::Kind;
  return {
      "evolution",
      "regularised evolution: mutates the best of a tournament among the youngest trials",
      {number_option("population", Kind::kInt, 24, 1, 10'000, "number of trials that may be parents; the first ones "
                                                              "are random"),
       number_option("tournament", Kind::kInt, 6, 1, 10'000, "number of trials of which the best becomes the parent"),
       number_option("p_model", Kind::kReal, 0.8, 0, 1, "probability that a child's model is mutated"),
       number_option("p_param", Kind::kReal, 0.5, 0, 1, "probability that a hyper-parameter of a child is "
                                                        "sampled again"),
       number_option("parsimony", Kind::kReal, 0, 0, 1,
                     "share of the population with ranks that count as equal, so that the smaller model wins; 0: "
                     "size does not count"),
       mutation_count_option()},
      [](const Context& context, const Options& options) -> Result<std::unique_ptr<Sampler>> {
        Settings settings;
        settings.population = options.at("population").get<std::int64_t>();
        settings.tournament = options.at("tournament").get<std::int64_t>();
        settings.p_model = options.at("p_model").get<double>();
        settings.p_param = options.at("p_param").get<double>();
        settings.parsimony = options.at("parsimony").get<double>();
        LANISTA_ASSIGN(settings.mutations, mutation_count(options));
        return std::unique_ptr<Sampler>(std::make_unique<Evolution>(context, settings));
      }};
}

}  // namespace lanista::strategy
