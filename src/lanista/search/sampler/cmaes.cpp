#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "lanista/model/space/unit_interval.h"
#include "lanista/search/math/cma_es.h"
#include "lanista/search/sampler/builtin.h"
#include "lanista/search/sampler/history.h"
#include "lanista/search/sampler/proposal_sampler.h"

namespace lanista::strategy {
namespace {

constexpr int kResamplings = 100;          ///< of a point outside the bounds, before it is clipped
constexpr std::int64_t kMaxDoublings = 9;  ///< of the population, as in IPOP's own experiments

/// CMA-ES over the numbers of a space, each as its unit interval, by the first goal. Base, mutations and what is chosen
/// from a list are drawn at random beside it. A coordinate that the sample does not show, because it was rounded or its
/// parameter is not active, is the one that was drawn.
///
/// Nobody waits for a generation: whoever asks before its end gets more of the same distribution, and it ends with the
/// `population` next results, wherever they were drawn. Late ones, and trials that were drawn at random because the
/// distribution had nothing new, are told as foreign. For that to work a generation must be no smaller than the number
/// of trials under way, or most of what it learns is of the past; so that is what it has unless an option says
/// otherwise.
///
/// Restarted with twice the population (Auger & Hansen, CEC'05) at a random place when the distribution is spent, when
/// equal results have made its steps longer than the space, and when a whole generation could not be drawn from it,
/// because what it holds (integers) was tried. What was drawn before a restart is not told after it.
class CmaEsSearch final : public ReplayableSampler {
 public:
  CmaEsSearch(const Context& context, MutationCount count, std::int64_t population, double sigma)
      : ReplayableSampler(context),
        proposal_sampler_(context, count),
        history_(context),
        population_(population),
        sigma_(sigma) {
    for (const space::Parameter& parameter : context.params.parameters()) {
      if (!std::holds_alternative<space::Categorical>(parameter.domain)) ++dimension_;
    }
    if (dimension_ > 0) search_.emplace(std::vector<double>(dimension_, 0.5), sigma_, population_);
  }
  std::string_view name() const override { return "cmaes"; }

 protected:
  Result<std::optional<study::Proposal>> next(std::uint64_t, const Rng& rng,
                                              const DuplicateFilter& duplicates) const override {
    if (!search_) return random_unique(proposal_sampler_, rng, duplicates);
    return unique_or_random(proposal_sampler_, rng, duplicates, rng, [this](const Rng& r) { return propose(r); });
  }

  void fold_event(const study::Event& event) override {
    if (!search_) return;
    const auto* proposed = std::get_if<study::Proposed>(&event);
    if (proposed != nullptr) pending_points_[proposed->trial] = asked(proposed->proposal.sample);
    const auto seen = history_.observe(event);
    if (proposed != nullptr) return reset_generation();
    if (const auto* ended = std::get_if<study::Ended>(&event); ended && !seen) pending_points_.erase(ended->trial);
    if (!seen) return;
    auto asked = pending_points_.extract(seen->trial);
    if (seen->outcome == study::OutcomeKind::kCancelled) return;
    if (!asked) {  // it went on after a pause, and counts where it has not been told yet
      const auto known = std::find_if(results_.begin(), results_.end(),
                                      [&](const Observation& each) { return each.trial == seen->trial; });
      if (known != results_.end()) *known = *seen;
      return;
    }
    if (asked.mapped().restart != restarts_) return;
    results_.push_back(*seen);
    origins_.push_back(std::move(asked.mapped()));
    if (static_cast<std::int64_t>(results_.size()) == search_->population()) end_generation();
  }

 private:
  /// How a trial was drawn.
  struct PendingPoint {
    std::int64_t restart = 0, generation = 0;
    bool elsewhere = false;  ///< not from the distribution
    std::vector<double> x;
  };

  /// A generation is no smaller than the number of trials under way.
  void reset_generation() {
    const auto running = static_cast<std::int64_t>(history_.running().size());
    if (population_ == 0 && running > search_->population()) search_->set_population(running);
  }

  /// Failed trials come last; ties by trial.
  void end_generation() {
    const std::vector<std::int64_t> rank = ranks_at_equal_fidelity(results_, rank_by_goals_in_order);
    std::vector<std::size_t> order(rank.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return std::pair(rank[a], results_[a].trial) < std::pair(rank[b], results_[b].trial);
    });
    std::vector<CmaEs::RankedPoint> members;
    bool any_drawn = false;
    for (const std::size_t i : order) {
      const PendingPoint& origin = origins_[i];
      any_drawn = any_drawn || !origin.elsewhere;
      members.push_back({origin.x, origin.elsewhere || origin.generation != generation_});
    }
    const bool flat = *std::max_element(rank.begin(), rank.end()) == 0;
    flat ? search_->update_from_ties() : search_->update(members);
    results_.clear();
    origins_.clear();
    ++generation_;
    if (search_->has_converged() || !any_drawn || (flat && search_->longest_axis_deviation() > 1)) restart();
  }

  void restart() {
    ++restarts_;
    Rng rng = context().rng.split("restart").split(static_cast<std::uint64_t>(generation_));
    std::vector<double> mean(dimension_);
    for (double& x : mean) x = rng.uniform();
    search_.emplace(std::move(mean), sigma_, search_->population() * (restarts_ <= kMaxDoublings ? 2 : 1));
  }

  /// A point of the distribution inside the unit cube.
  std::vector<double> point(const Rng& rng) const {
    Rng draws = rng.split("point");
    std::vector<double> x;
    for (int i = 0; i < kResamplings; ++i) {
      x = search_->sample_point(draws);
      if (std::all_of(x.begin(), x.end(), [](double u) { return u >= 0 && u <= 1; })) return x;
    }
    for (double& u : x) u = std::clamp(u, 0.0, 1.0);
    return x;
  }

  Result<study::Proposal> propose(const Rng& rng) const {
    const std::vector<double> x = point(rng);
    space::Sample sample;
    std::size_t i = 0;
    for (const space::Parameter& parameter : context().params.parameters()) {
      const bool number = !std::holds_alternative<space::Categorical>(parameter.domain);
      const double u = number ? x[i++] : rng.split("choice").split(parameter.name).uniform();
      if (space::is_active(parameter, sample)) sample[parameter.name] = space::value_at(parameter.domain, u);
    }
    const auto base = static_cast<std::int64_t>(rng.split("base").below(proposal_sampler_.bases().size()));
    return proposal_sampler_.mutated(base, std::move(sample), rng);
  }

  /// The first of the draws for the next proposal that gives the sample; else where the sample lies.
  PendingPoint asked(const space::Sample& sample) {
    const Rng rng = context().rng.split(proposed_++);
    for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(kMaxAttempts); ++i) {
      std::vector<double> x = point(rng.split(i));
      if (known(x, sample) == x) return {restarts_, generation_, false, std::move(x)};
    }
    return {restarts_, generation_, true, known(point(rng.split(std::uint64_t{0})), sample)};
  }

  /// The drawn point, moved where the sample says otherwise.
  std::vector<double> known(std::vector<double> x, const space::Sample& sample) const {
    std::size_t i = 0;
    for (const space::Parameter& parameter : context().params.parameters()) {
      if (std::holds_alternative<space::Categorical>(parameter.domain)) continue;
      double& u = x[i++];
      const auto it = sample.find(parameter.name);
      const bool shown = it != sample.end() && space::is_active(parameter, sample) &&
                         space::domain_contains(parameter.domain, it->second);
      if (shown && space::value_at(parameter.domain, u) != it->second) {
        u = space::unit_position(parameter.domain, it->second);
      }
    }
    return x;
  }

  ProposalSampler proposal_sampler_;
  History history_;
  std::int64_t population_;
  double sigma_;
  std::size_t dimension_ = 0;
  std::optional<CmaEs> search_;  ///< none in a space without numbers
  std::int64_t generation_ = 0;  ///< over all restarts
  std::int64_t restarts_ = 0;
  std::uint64_t proposed_ = 0;
  std::map<TrialId, PendingPoint> pending_points_;
  std::vector<Observation> results_;   ///< of this generation
  std::vector<PendingPoint> origins_;  ///< of each result
};

}  // namespace

StrategyPlugin cmaes_plugin() {
  using Kind = OptionSpec::Kind;
  return {"cmaes",
          "CMA-ES over the numbers of the space by the first goal; base models, choices and mutations are random",
          {number_option("population", Kind::kInt, 0, 0, 10'000,
                         "trials of a generation; 0: 4 + 3 ln(numbers), or the number of open trials if that is more"),
           number_option("sigma", Kind::kReal, 1.0 / 6, 1e-6, 1, "first step size, as a share of each range"),
           mutation_count_option()},
          [](const Context& context, const Options& options) -> Result<std::unique_ptr<Sampler>> {
            const auto population = options.at("population").get<std::int64_t>();
            if (population == 1) {
              return Error{Code::kInvalidArgument, "population is 1; it must be 0 or at least 2", "population"};
            }
            LANISTA_ASSIGN(const MutationCount count, mutation_count(options));
            return std::unique_ptr<Sampler>(
                std::make_unique<CmaEsSearch>(context, count, population, options.at("sigma").get<double>()));
          }};
}

}  // namespace lanista::strategy
