#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "lanista/space/unit.h"
#include "lanista/strategy/builtin.h"
#include "lanista/strategy/cma_es.h"
#include "lanista/strategy/draw.h"
#include "lanista/strategy/history.h"

namespace lanista::strategy {
namespace {

constexpr int kResamplings = 100;  ///< of a point outside the bounds, before it is clipped

/// CMA-ES over the numbers of a space, each as its unit interval, by the first goal. Base, mutations and what is chosen
/// from a list are drawn at random beside it. A generation ends with the first `population` trials drawn from it that
/// ended; whoever asks before gets more of the same distribution. A coordinate that the sample does not show, because
/// it was rounded or its parameter is not active, is the one that was drawn.
class Cmaes final : public Folding {
 public:
  Cmaes(const Context& context, std::unique_ptr<StoppingRule> rule, MutationCount count, std::int64_t population,
        double sigma)
      : Folding(context, std::move(rule)),
        drawer_(context, count),
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
  Result<std::optional<study::Proposal>> next(std::uint64_t, const Rng& rng, const Taken& taken) const override {
    if (!search_) return random_new(drawer_, rng, taken);
    return new_or_random(drawer_, rng, taken, rng, [this](const Rng& r) { return propose(r); });
  }

  void fold(const study::Event& event) override {
    if (!search_) return;
    if (const auto* proposed = std::get_if<study::Proposed>(&event)) {
      const Rng first_draw = context().rng.split(proposed_++).split(std::uint64_t{0});
      asked_[proposed->trial] = {generation_, known(point(first_draw), proposed->proposal.sample)};
    }
    const auto seen = history_.observe(event);
    const auto* ended = std::get_if<study::Ended>(&event);
    if (ended == nullptr) return;
    const auto asked = asked_.extract(ended->trial);
    if (!seen || !asked || seen->outcome == study::OutcomeKind::kCancelled) return;
    if (asked.mapped().generation != generation_) return;
    const bool lost = seen->losses.empty() || std::isnan(seen->losses[0]);
    results_.push_back({lost, lost ? 0 : seen->violation, lost ? 0 : seen->losses[0], seen->trial, asked.mapped().x});
    if (static_cast<std::int64_t>(results_.size()) == search_->population()) end_generation();
  }

 private:
  struct Asked {
    std::int64_t generation = 0;
    std::vector<double> x;
  };
  /// Lost ones last, before them those that break a constraint; ties by trial.
  using Ranked = std::tuple<bool, double, double, TrialId, std::vector<double>>;

  void end_generation() {
    std::sort(results_.begin(), results_.end());
    std::vector<std::vector<double>> ranked;
    for (Ranked& result : results_) ranked.push_back(std::move(std::get<4>(result)));
    results_.clear();
    search_->tell(ranked);
    ++generation_;
    if (!search_->spent()) return;
    Rng rng = context().rng.split("restart").split(static_cast<std::uint64_t>(generation_));
    std::vector<double> mean(dimension_);
    for (double& x : mean) x = rng.uniform();
    search_.emplace(std::move(mean), sigma_, population_);
  }

  /// A point of the distribution inside the unit cube.
  std::vector<double> point(const Rng& rng) const {
    Rng draws = rng.split("point");
    std::vector<double> x;
    for (int i = 0; i < kResamplings; ++i) {
      x = search_->draw(draws);
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
    const auto base = static_cast<std::int64_t>(rng.split("base").below(drawer_.bases().size()));
    return drawer_.mutated(base, std::move(sample), rng);
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

  Drawer drawer_;
  History history_;
  std::int64_t population_;
  double sigma_;
  std::size_t dimension_ = 0;
  std::optional<CmaEs> search_;  ///< none in a space without numbers
  std::int64_t generation_ = 0;  ///< over all restarts
  std::uint64_t proposed_ = 0;
  std::map<TrialId, Asked> asked_;
  std::vector<Ranked> results_;  ///< of this generation
};

}  // namespace

StrategyPlugin cmaes_plugin() {
  using Kind = OptionSpec::Kind;
  return {"cmaes",
          "CMA-ES over the numbers of the space by the first goal; bases, choices and mutations are drawn at random",
          {number_option("population", Kind::kInt, 0, 0, 10'000, "trials of a generation; 0: 4 + 3 ln(numbers)"),
           number_option("sigma", Kind::kReal, 1.0 / 6, 1e-6, 1, "first step, as a part of each range"),
           mutation_count_option()},
          [](const Context& context, const Options& options,
             std::unique_ptr<StoppingRule> rule) -> Result<std::unique_ptr<Strategy>> {
            const auto population = options.at("population").get<std::int64_t>();
            if (population == 1) {
              return Error{Code::kInvalidArgument, "population is 1; it must be 0 or at least 2", "population"};
            }
            LANISTA_ASSIGN(const MutationCount count, mutation_count(options));
            return std::unique_ptr<Strategy>(std::make_unique<Cmaes>(context, std::move(rule), count, population,
                                                                     options.at("sigma").get<double>()));
          }};
}

}  // namespace lanista::strategy
