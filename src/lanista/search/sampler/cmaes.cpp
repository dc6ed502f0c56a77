#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "lanista/model/space/unit_interval.h"
#include "lanista/search/math/cma_es.h"
#include "lanista/search/sampler/builtin.h"
#include "lanista/search/sampler/history.h"
#include "lanista/search/sampler/proposal_sampler.h"

namespace lanista::search {
namespace {

constexpr int kResamplings = 100;          ///< Samples that may be outside of the bounds before one is clipped.
constexpr std::int64_t kMaxDoublings = 9;  ///< Doublings of the population, as in the experiments of IPOP.

/// CMA-ES over the numbers of a space, each in its unit interval, by the first goal. Base models, mutations and
/// categorical values are random. A coordinate that the sample does not determine, because it was rounded or its
/// parameter is inactive, is the sampled one.
///
/// No slot waits for a generation. Before its end, further samples come from the same distribution. It ends with the
/// next `population` results, whatever their distribution. Late results are injected points. So are random proposals,
/// which are made when the distribution gives nothing new. A generation has at least as many points as trials are
/// running, unless an option sets its size. Otherwise most of its results would come from earlier distributions.
///
/// The search restarts at a random point with twice the population (Auger & Hansen, CEC'05). It does so when the
/// distribution has converged, or when equal results have made its steps longer than the space. It also does so after a
/// generation without a sample of the distribution, because all its integers were tried. Results of proposals before a
/// restart are ignored.
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
  NextProposal next(std::uint64_t, const Rng& rng, const DuplicateFilter& duplicates) const override {
    if (!search_) return random_unique(proposal_sampler_, rng, duplicates);
    return unique_or_random(proposal_sampler_, rng, duplicates, rng, [this](const Rng& r) { return propose(r); });
  }

  void fold_event(const study::Event& event) override {
    if (!search_) return;
    const auto* proposed = std::get_if<study::Proposed>(&event);
    if (proposed != nullptr) pending_points_[proposed->trial] = origin_of(proposed->proposal.sample);
    const auto seen = history_.observe(event);
    if (proposed != nullptr) return enlarge_generation();
    if (const auto* ended = std::get_if<study::Ended>(&event); ended && !seen) pending_points_.erase(ended->trial);
    if (!seen) return;
    auto pending = pending_points_.extract(seen->trial);
    if (seen->outcome == study::OutcomeKind::kCancelled) return;
    if (!pending) {  // It resumed after a pause. Its new result counts while its generation is open.
      const auto known = std::find_if(results_.begin(), results_.end(),
                                      [&](const Observation& each) { return each.trial == seen->trial; });
      if (known != results_.end()) *known = *seen;
      return;
    }
    if (pending.mapped().restart != restarts_) return;
    results_.push_back(*seen);
    origins_.push_back(std::move(pending.mapped()));
    if (static_cast<std::int64_t>(results_.size()) == search_->population()) end_generation();
  }

 private:
  /// The point that gave a proposal.
  struct PendingPoint {
    std::int64_t restart = 0, generation = 0;
    bool is_injected = false;  ///< Whether it is not a sample of the distribution.
    std::vector<double> x;
  };

  /// Enlarges the population to the number of running trials.
  void enlarge_generation() {
    const auto running = static_cast<std::int64_t>(history_.running().size());
    if (population_ == 0 && running > search_->population()) search_->set_population(running);
  }

  /// Updates the distribution by the results of this generation. Failed trials come last; ties go by trial id.
  void end_generation() {
    const std::vector<std::int64_t> rank = ranks_at_equal_fidelity(results_, rank_by_goals_in_order);
    std::vector<std::size_t> order(rank.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return std::pair(rank[a], results_[a].trial) < std::pair(rank[b], results_[b].trial);
    });
    std::vector<CmaEs::RankedPoint> members;
    bool any_sampled = false;
    for (const std::size_t i : order) {
      const PendingPoint& origin = origins_[i];
      any_sampled = any_sampled || !origin.is_injected;
      members.push_back({origin.x, origin.is_injected || origin.generation != generation_});
    }
    const bool flat = *std::max_element(rank.begin(), rank.end()) == 0;
    flat ? search_->update_from_ties() : search_->update(members);
    results_.clear();
    origins_.clear();
    ++generation_;
    if (search_->has_converged() || !any_sampled || (flat && search_->longest_axis_deviation() > 1)) restart();
  }

  void restart() {
    ++restarts_;
    Rng rng = context().rng.split("restart").split(static_cast<std::uint64_t>(generation_));
    std::vector<double> mean(dimension_);
    for (double& x : mean) x = rng.uniform();
    search_.emplace(std::move(mean), sigma_, search_->population() * (restarts_ <= kMaxDoublings ? 2 : 1));
  }

  /// Returns a sample of the distribution inside the unit cube.
  std::vector<double> point(const Rng& rng) const {
    Rng sampling_rng = rng.split("point");
    std::vector<double> x;
    for (int i = 0; i < kResamplings; ++i) {
      x = search_->sample_point(sampling_rng);
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

  /// Returns the first sampled point of the next proposal that gives this sample; else the point of the sample itself.
  PendingPoint origin_of(const space::Sample& sample) {
    const Rng rng = context().rng.split(proposed_++);
    for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(kMaxAttempts); ++i) {
      std::vector<double> x = point(rng.split(i));
      if (moved_to(x, sample) == x) return {restarts_, generation_, false, std::move(x)};
    }
    return {restarts_, generation_, true, moved_to(point(rng.split(std::uint64_t{0})), sample)};
  }

  /// Returns the point with the coordinates that the sample determines replaced by those of the sample.
  std::vector<double> moved_to(std::vector<double> x, const space::Sample& sample) const {
    std::size_t i = 0;
    for (const space::Parameter& parameter : context().params.parameters()) {
      if (std::holds_alternative<space::Categorical>(parameter.domain)) continue;
      double& u = x[i++];
      const auto it = sample.find(parameter.name);
      const bool is_determined = it != sample.end() && space::is_active(parameter, sample) &&
                                 space::domain_contains(parameter.domain, it->second);
      if (is_determined && space::value_at(parameter.domain, u) != it->second) {
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
  std::optional<CmaEs> search_;  ///< None in a space without numbers.
  std::int64_t generation_ = 0;  ///< Number over all restarts.
  std::int64_t restarts_ = 0;
  std::uint64_t proposed_ = 0;
  std::map<TrialId, PendingPoint> pending_points_;
  std::vector<Observation> results_;   ///< Results of this generation.
  std::vector<PendingPoint> origins_;  ///< One per result.
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

}  // namespace lanista::search
