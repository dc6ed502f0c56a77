#include <algorithm>
#include <cmath>

#include "lanista/model/space/unit_interval.h"
#include "lanista/search/sampler/builtin.h"
#include "lanista/search/sampler/learning_sampler.h"

namespace lanista::search {
namespace {

struct Settings {
  std::int64_t starts = 0, patience = 0;
  double radius = 0, p_model = 0;
  MutationCount mutations;
};

/// Keeps the values of a point where they are still valid and moves one parameter to a value near it. Parameters
/// without a value are sampled.
class NeighbourChooser final : public space::Chooser {
 public:
  NeighbourChooser(const space::Sample& point, std::string target, double radius, Rng rng)
      : point_(point), target_(std::move(target)), radius_(radius), rng_(rng) {}

 protected:
  std::int64_t pick_index(std::string_view label, std::int64_t count) override {
    return space::RandomChooser(rng_.split(label)).index(label, count);
  }
  space::Value pick_value(std::string_view label, const space::Domain& domain) override {
    const auto old = point_.find(std::string(label));
    space::RandomChooser random(rng_.split(label));
    if (old == point_.end() || !space::domain_contains(domain, old->second)) return random.sample_value(label, domain);
    if (label != target_) return old->second;
    Rng rng = rng_.split(label);
    const bool ordered = !std::holds_alternative<space::Categorical>(domain);
    const double from = space::unit_position(domain, old->second);
    // A step that changes nothing is repeated. A domain of one value has no other.
    for (int i = 0; i < 16; ++i) {
      space::Value value = ordered ? space::value_at(domain, step(from, rng)) : random.sample_value(label, domain);
      if (value != old->second) return value;
    }
    return random.sample_value(label, domain);
  }

 private:
  /// Returns the position after a normal step, reflected at the ends.
  double step(double from, Rng& rng) const {
    const double to = std::abs(from + radius_ * rng.normal());
    return to <= 1 ? to : std::clamp(2 - to, 0.0, 1.0);
  }

  const space::Sample& point_;
  std::string target_;
  double radius_;
  Rng rng_;
};

/// Hill climbing with restarts (White et al., UAI'21, the variant that moves at the first improvement). A climb begins
/// with a few random trials and continues with neighbours of its best trial. It ends when `patience` trials in a row do
/// not improve it. The best trial is the first by rank at equal fidelity (history.h). With several goals the first one
/// counts, and the next ones where it is equal.
class LocalSearch final : public LearningSampler<Settings> {
 public:
  using LearningSampler::LearningSampler;

 protected:
  NextProposal next(std::uint64_t index, const Rng& rng, const DuplicateFilter& duplicates) const override {
    const auto num_in_climb = static_cast<std::int64_t>(index - first_);
    if (top_ && num_in_climb >= settings_.starts) {
      // If all neighbours are known, the proposal is random. It counts towards the patience as well.
      return unique_or_random(proposal_sampler_, rng, duplicates, rng.split("near"),
                              [this](const Rng& r) { return neighbour(r); });
    }
    return random_unique(proposal_sampler_, rng, duplicates);
  }

  void fold_event(const study::Event& event) override {
    if (std::holds_alternative<study::Proposed>(event)) ++proposed_;
    auto ended = history_.observe(event);
    // Trials of an earlier climb are ignored. Trials are numbered in the order of proposal.
    if (!ended || ended->trial.value <= first_ || ended->outcome == study::OutcomeKind::kCancelled) return;
    const std::optional<std::size_t> before = top_;
    const bool is_update = ended->is_update;
    if (!ended->losses.empty()) {
      insert_or_replace(climb_, *std::move(ended));
      const std::vector<std::int64_t> rank = ranks_at_equal_fidelity(climb_, rank_by_goals_in_order);
      top_ = std::min_element(rank.begin(), rank.end()) - rank.begin();
    }
    if (top_ != before) {
      fruitless_ = 0;
    } else if (!is_update && top_ && ++fruitless_ >= settings_.patience) {
      climb_.clear();
      top_.reset();
      fruitless_ = 0;
      first_ = proposed_;
    }
  }

 private:
  Result<study::Proposal> neighbour(const Rng& rng) const {
    const Observation& top = climb_[*top_];
    const study::Proposal& from = top.proposal;
    const bool has_mutators = context().models->mutator_count() > 0;
    study::Proposal out = from;
    out.parent = top.trial;
    if (has_mutators && (from.sample.empty() || rng.split("model?").bernoulli(settings_.p_model))) {
      LANISTA_ASSIGN(const mutate::Candidate before, proposal_sampler_.resampled_model(from, from.sample));
      LANISTA_ASSIGN(const mutate::Candidate changed, context().models->mutate(before, 1, rng.split("mutate")));
      out = proposal_sampler_.proposal(changed, from.sample);
      out.parent = top.trial;
    } else if (!from.sample.empty()) {
      auto target = from.sample.begin();
      std::advance(target, static_cast<std::ptrdiff_t>(rng.split("which").below(from.sample.size())));
      NeighbourChooser choose(from.sample, target->first, settings_.radius, rng.split("value"));
      space::Sample sample = context().params.sample(choose);
      LANISTA_ASSIGN(const mutate::Candidate model, proposal_sampler_.resampled_model(from, sample));
      out = proposal_sampler_.proposal(model, std::move(sample));
      out.parent = top.trial;
    }
    return out;
  }

  std::uint64_t proposed_ = 0;
  std::uint64_t first_ = 0;         ///< Proposals before this climb.
  std::vector<Observation> climb_;  ///< Trials of this climb that ended with a result, in order.
  std::optional<std::size_t> top_;  ///< Index of the best of them.
  std::int64_t fruitless_ = 0;      ///< Trials that ended since it became the best.
};

}  // namespace

StrategyPlugin local_search_plugin() {
  using Kind = OptionSpec::Kind;
  return learning_plugin<LocalSearch, Settings>(
      "local_search", "hill climbing with restarts: one mutation or one hyper-parameter away from the best trial",
      {{&Settings::starts,
        number_option("starts", Kind::kInt, 3, 1, 10'000, "number of random trials at the start of a climb")},
       {&Settings::patience, number_option("patience", Kind::kInt, 25, 1, 1'000'000,
                                           "trials without improvement after which a new climb starts")},
       {&Settings::radius,
        number_option("radius", Kind::kReal, 0.1, 0.001, 10, "standard deviation of a step, as a share of the range")},
       {&Settings::p_model,
        number_option("p_model", Kind::kReal, 0.5, 0, 1, "probability that a neighbour differs in the model")}});
}

}  // namespace lanista::search
