#include <algorithm>
#include <deque>
#include <utility>

#include "lanista/model/space/unit_interval.h"
#include "lanista/search/math/policy.h"
#include "lanista/search/sampler/builtin.h"
#include "lanista/search/sampler/decisions.h"
#include "lanista/search/sampler/learning_sampler.h"

namespace lanista::search {
namespace {

constexpr std::uint64_t kTries = 32;  ///< Samples of a mutation until one is applicable, as in random search.

struct Settings {
  double rate = 0, baseline_decay = 0, entropy = 0;
  std::int64_t bins = 0, window = 0;
  MutationCount mutations;
};

/// Returns the number of bins of a domain: one per value if there are few, else `bins` equal parts of the unit
/// interval.
std::int64_t bin_count(const space::Domain& domain, std::int64_t bins) {
  if (std::holds_alternative<space::Categorical>(domain)) return *space::domain_size(domain);
  return std::min(space::domain_size(domain).value_or(bins), bins);
}

/// True if each value is a bin.
bool is_listed(const space::Domain& domain, std::int64_t bins) { return space::domain_size(domain) == bins; }

/// Returns the value of a bin; u in [0, 1] is the position inside the bin.
space::Value value_in(const space::Domain& domain, std::int64_t bins, std::int64_t bin, double u) {
  if (is_listed(domain, bins)) return space::domain_value(domain, bin, bins);
  return space::value_at(domain, std::min(1.0, (static_cast<double>(bin) + u) / static_cast<double>(bins)));
}

std::int64_t bin_of(const space::Domain& domain, std::int64_t bins, const space::Value& value) {
  if (is_listed(domain, bins)) {
    std::int64_t i = 0;
    while (space::domain_value(domain, i, bins) != value) ++i;
    return i;
  }
  const double place = space::unit_position(domain, value) * static_cast<double>(bins);
  return std::min(bins - 1, static_cast<std::int64_t>(place));
}

/// Returns the name of a decision of a mutator.
std::string site(std::string_view mutator, std::string_view label) {
  return "mutate/" + std::string(mutator) + "/" + std::string(label);
}

/// Answers the decisions of a mutation by the policy: first which mutator, then the mutator's own ones.
class PolicyChooser final : public space::Chooser {
 public:
  PolicyChooser(const Policy& policy, Rng rng) : policy_(policy), rng_(rng) {}

 protected:
  std::int64_t pick_index(std::string_view label, std::int64_t count) override {
    const bool first = trace().empty();
    const std::int64_t answer = policy_.sample(site(mutator_, label), count, rng_.split(trace().size()));
    if (first) mutator_ = std::to_string(answer);
    return answer;
  }
  space::Value pick_value(std::string_view label, const space::Domain& domain) override {
    return space::RandomChooser(rng_.split(trace().size())).sample_value(label, domain);
  }

 private:
  const Policy& policy_;
  Rng rng_;
  std::string mutator_;
};

/// REINFORCE with a moving baseline (Williams, 1992; Zoph and Le, ICLR'17, with independent softmaxes in place of their
/// recurrent network). The reward of a trial is the share of the last `window` trials that are worse. Trials are
/// compared by rank at equal fidelity (history.h), with several goals by fronts, so that the scale of losses does not
/// matter.
class PolicyGradient final : public LearningSampler<Settings> {
 public:
  PolicyGradient(const Context& context, const Settings& settings, std::string_view name)
      : LearningSampler(context, settings, name), decisions_(context, false) {}

 protected:
  NextProposal next(std::uint64_t, const Rng& rng, const DuplicateFilter& duplicates) const override {
    return unique_or_random(proposal_sampler_, rng, duplicates, rng.split("policy"),
                            [this](const Rng& r) { return policy_proposal(r); });
  }

  void fold_event(const study::Event& event) override {
    auto ended = history_.observe(event);
    if (!ended || ended->outcome == study::OutcomeKind::kCancelled) return;
    const study::Proposal proposal = std::exchange(ended->proposal, {});
    if (ended->is_update) {  // A trial is learned from once. Later trials are compared with its new result.
      const auto known = std::find_if(recent_.begin(), recent_.end(),
                                      [&](const Observation& each) { return each.trial == ended->trial; });
      if (known != recent_.end()) *known = *std::move(ended);
      return;
    }
    recent_.push_back(*std::move(ended));
    const double reward = latest_reward();
    learn(proposal, reward - baseline_);
    baseline_ = settings_.baseline_decay * baseline_ + (1 - settings_.baseline_decay) * reward;
    if (static_cast<std::int64_t>(recent_.size()) > settings_.window) recent_.pop_front();
  }

 private:
  double latest_reward() const {
    const std::vector<std::int64_t> rank = ranks_at_equal_fidelity(recent_);
    if (rank.size() == 1) return 0.5;
    double beaten = 0;
    for (std::size_t i = 0; i + 1 < rank.size(); ++i) {
      beaten += rank[i] > rank.back() ? 1 : (rank[i] == rank.back() ? 0.5 : 0);
    }
    return beaten / static_cast<double>(rank.size() - 1);
  }

  std::string label(std::size_t decision) const { return "decision " + std::to_string(decision); }
  std::int64_t bins(std::size_t decision) const { return bin_count(decisions_.domain(decision), settings_.bins); }
  std::int64_t counts() const { return settings_.mutations.hi - settings_.mutations.lo + 1; }

  Result<study::Proposal> policy_proposal(const Rng& rng) const {
    const auto choose_values = [&](std::size_t group) {
      const std::size_t i = decisions_.groups()[group][0];
      const Rng own = rng.split("decision").split(i);
      const std::int64_t bin = policy_.sample(label(i), bins(i), own);
      return std::vector{value_in(decisions_.domain(i), bins(i), bin, own.split("inside").uniform())};
    };
    auto [base, sample] = decisions_.choose_values(choose_values);
    LANISTA_ASSIGN(mutate::Candidate model, proposal_sampler_.model_of_sample(base, sample));
    if (context().models->mutator_count() == 0) return proposal_sampler_.proposal(model, std::move(sample));
    const std::int64_t count = settings_.mutations.lo + policy_.sample("mutations", counts(), rng.split("count"));
    for (std::int64_t i = 0; i < count; ++i) {
      LANISTA_ASSIGN(model, mutate(model, rng.split("mutate").split(static_cast<std::uint64_t>(i))));
    }
    return proposal_sampler_.proposal(model, std::move(sample));
  }

  Result<mutate::Candidate> mutate(const mutate::Candidate& model, const Rng& rng) const {
    for (std::uint64_t attempt = 0;; ++attempt) {
      PolicyChooser choose(policy_, rng.split(attempt));
      auto child = context().models->mutate(model, choose);
      if (child || child.error().code != Code::kNotApplicable || attempt + 1 == kTries) return child;
    }
  }

  void learn(const study::Proposal& proposal, double advantage) {
    const auto step = [&](const std::string& decision, std::int64_t count, std::int64_t answer) {
      policy_.reinforce(decision, count, answer, advantage, settings_.rate, settings_.entropy);
    };
    const DecisionList::DecisionValues answers = decisions_.values_of(proposal);
    for (const std::vector<std::size_t>& group : decisions_.groups()) {
      const std::size_t i = group[0];
      if (answers[i]) step(label(i), bins(i), bin_of(decisions_.domain(i), bins(i), *answers[i]));
    }
    const auto mutations = static_cast<std::int64_t>(proposal.steps.size()) - settings_.mutations.lo;
    if (context().models->mutator_count() == 0 || mutations < 0 || mutations >= counts()) return;
    step("mutations", counts(), mutations);
    for (const space::MutationStep& mutation : proposal.steps) {
      std::string mutator;
      for (const space::Decision& decision : mutation.trace) {
        const auto* answer = std::get_if<std::int64_t>(&decision.answer);
        if (answer == nullptr || *answer < 0 || *answer >= decision.count) continue;  // Not learned: random.
        step(site(mutator, decision.label), decision.count, *answer);
        if (&decision == &mutation.trace.front()) mutator = std::to_string(*answer);
      }
    }
  }

  DecisionList decisions_;
  Policy policy_;
  double baseline_ = 0.5;
  std::deque<Observation> recent_;  ///< Recent trials, without their proposals.
};

}  // namespace

StrategyPlugin policy_gradient_plugin() {
  using Kind = OptionSpec::Kind;
  return learning_plugin<PolicyGradient, Settings>(
      "policy_gradient", "REINFORCE: learns independent probabilities of all decisions, mutations included",
      {{&Settings::rate, number_option("rate", Kind::kReal, 0.4, 0, 100, "learning rate of the logits")},
       {&Settings::baseline_decay,
        number_option("baseline_decay", Kind::kReal, 0.9, 0, 1, "share of the old baseline in the moving average")},
       {&Settings::entropy,
        number_option("entropy", Kind::kReal, 0.01, 0, 10, "weight of the policy's entropy, for exploration")},
       {&Settings::bins, number_option("bins", Kind::kInt, 8, 1, 10'000, "number of intervals of a numeric domain")},
       {&Settings::window, number_option("window", Kind::kInt, 64, 1, 10'000,
                                         "number of recent trials that a result is "
                                         "compared with")}});
}

}  // namespace lanista::search
