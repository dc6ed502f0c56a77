#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "lanista/model/space/unit_interval.h"
#include "lanista/search/math/improvement.h"
#include "lanista/search/sampler/builtin.h"
#include "lanista/search/sampler/learning_sampler.h"
#include "lanista/search/sampler/modelled_points.h"
#include "lanista/search/sampler/sobol.h"
#include "lanista/search/study/pareto.h"

namespace lanista::search {
namespace {

struct Settings {
  std::int64_t startup = 0, candidates = 0, fantasies = 0, observations = 0, refit = 0;
  MutationCount mutations;
};

/// Starts of the local search: so many of the candidates and so many of the best results.
constexpr std::size_t kStarts = 4;
constexpr std::int64_t kLocalSteps = 60;  ///< Steps from each start.

/// Bayesian optimisation with exact Gaussian processes by the first goal. Kernel, priors and start-up are those of
/// Optuna's sampler.
///
/// Candidates are a scrambled Sobol set, and points that a local search finds from the best of them and from the best
/// results (Hutter et al., 2011). The one with the highest constrained expected improvement (improvement.h) is
/// proposed. The model uses the results of one epoch (modelled_points.h). An inactive parameter has the middle of its
/// range as coordinate; the parameter on which it depends distinguishes the branches. Mutations of the base model are
/// random.
class GaussianProcessSearch final : public LearningSampler<Settings> {
 public:
  GaussianProcessSearch(const Context& context, const Settings& settings, std::string_view name)
      : LearningSampler(context, settings, name) {
    unordered_.push_back(true);  // The base model.
    for (const space::Parameter& parameter : context.params.parameters()) {
      unordered_.push_back(std::holds_alternative<space::Categorical>(parameter.domain));
    }
  }

 protected:
  NextProposal next(std::uint64_t, const Rng& rng, const DuplicateFilter& duplicates) const override {
    if (static_cast<std::int64_t>(seen_.size()) >= settings_.startup) {
      std::uint64_t i = 0;
      for (const Candidate& candidate : ranked(rng, duplicates)) {
        auto proposal = proposal_sampler_.mutated(candidate.base, candidate.sample, rng.split("model").split(i++));
        if (!proposal && proposal.error().code != Code::kNotApplicable) return std::move(proposal).error();
        if (proposal && !duplicates.rejection_reason(*proposal)) return std::optional(*std::move(proposal));
      }
      // All candidates are rejected: the proposal is random.
    }
    return random_unique(proposal_sampler_, rng, duplicates);
  }

  void fold_event(const study::Event& event) override {
    auto ended = history_.observe(event);
    if (const auto* measured = std::get_if<study::Measured>(&event)) {
      const study::Measurement& m = measured->measurement;
      for (const auto* trials : {&history_.running(), &history_.paused_trials()}) {
        const auto trial = trials->find(m.trial);
        if (trial == trials->end()) continue;
        excesses_[m.trial][m.epoch] = study::excesses(context().constraints, m, trial->second.proposal.sample);
      }
      return;
    }
    if (ended && ended->outcome != study::OutcomeKind::kCancelled) add_result(*ended);
    if (const auto* end = std::get_if<study::Ended>(&event)) excesses_.erase(end->trial);
  }

 private:
  /// Adds the result of a trial that paused or ended.
  void add_result(Observation& trial) {
    const auto excesses = excesses_.find(trial.trial);
    ModelledTrial seen{coordinates(trial.proposal), std::move(trial), {}};
    seen.trial.proposal = {};
    if (excesses != excesses_.end()) seen.excesses = excesses->second;
    known_.reset();
    const auto before = std::find_if(seen_.begin(), seen_.end(),
                                     [&](const ModelledTrial& each) { return each.trial.trial == seen.trial.trial; });
    if (seen.trial.is_update && before != seen_.end()) {
      *before = std::move(seen);
      fitted_ = 0;  // The kernels depend on all results, so they are fitted again.
    } else {
      seen_.push_back(std::move(seen));
    }
  }

  using Point = std::vector<double>;
  struct Candidate {
    Point u;  ///< Coordinates in the unit cube.
    std::int64_t base = 0;
    space::Sample sample;
    double score = 0;
  };
  Point coordinates(const study::Proposal& proposal) const { return coordinates(proposal.base, proposal.sample); }
  Point coordinates(std::int64_t base, const space::Sample& sample) const {
    Point x{static_cast<double>(base)};
    for (const space::Parameter& parameter : context().params.parameters()) {
      const auto it = sample.find(parameter.name);
      const bool active = it != sample.end() && space::is_active(parameter, sample) &&
                          space::domain_contains(parameter.domain, it->second);
      x.push_back(active ? space::unit_position(parameter.domain, it->second) : 0.5);
    }
    return x;
  }

  Candidate candidate(Point u) const {
    Candidate out;
    const auto bases = static_cast<double>(proposal_sampler_.bases().size());
    out.base = static_cast<std::int64_t>(std::min(u[0] * bases, bases - 1));
    std::size_t i = 1;
    for (const space::Parameter& parameter : context().params.parameters()) {
      const double place = u[i++];
      if (space::is_active(parameter, out.sample)) {
        out.sample[parameter.name] = space::value_at(parameter.domain, place);
      }
    }
    out.u = std::move(u);
    return out;
  }

  EvaluatedPoints comparable_of(std::size_t count) const {
    const std::size_t enough = std::max(static_cast<std::size_t>(settings_.startup), unordered_.size() + 2);
    return points_of_modelled_epoch(std::span(seen_).first(count), unordered_, enough,
                                    static_cast<std::size_t>(settings_.observations));
  }

  /// Returns the points of the model, which stay the same until the next result. The kernels are those of the last
  /// refit. It depends only on the number of results, not on the time of the call.
  const EvaluatedPoints& known() const {
    if (known_) return *known_;
    const auto startup = static_cast<std::size_t>(settings_.startup), refit = static_cast<std::size_t>(settings_.refit);
    const std::size_t last = startup + (seen_.size() - startup) / refit * refit;
    if (fitted_ != last) {
      kernels_ = Improvement::fit(comparable_of(last));
      fitted_ = last;
    }
    known_ = comparable_of(seen_.size());
    return *known_;
  }

  Improvement improvement(const DuplicateFilter& duplicates) const {
    const EvaluatedPoints& known = this->known();
    std::vector<Point> pending;
    for (const auto& [trial, running] : history_.running()) pending.push_back(coordinates(running.proposal));
    for (const study::Proposal& proposal : duplicates.group()) pending.push_back(coordinates(proposal));
    return {known, kernels_, pending, settings_.fantasies};
  }

  /// Returns the candidates, the most promising first: at most kMaxAttempts and those of the local search.
  std::vector<Candidate> ranked(const Rng& rng, const DuplicateFilter& duplicates) const {
    const Improvement improvement = this->improvement(duplicates);
    const auto scored = [&](Point u) {
      Candidate out = candidate(std::move(u));
      out.score = improvement.score(coordinates(out.base, out.sample));
      return out;
    };
    const auto better = [](const Candidate& a, const Candidate& b) { return a.score > b.score; };
    std::vector<Candidate> all;
    for (std::int64_t i = 0; i < settings_.candidates; ++i) {
      all.push_back(
          scored(sobol_point(unordered_.size(), static_cast<std::uint64_t>(i), Scramble::kShift, rng.split("sobol"))));
    }
    std::stable_sort(all.begin(), all.end(), better);
    all.resize(std::min(all.size(), static_cast<std::size_t>(kMaxAttempts)));
    std::vector<Candidate> starts(all.begin(),
                                  all.begin() + static_cast<std::ptrdiff_t>(std::min(kStarts, all.size())));
    for (Point& u : best_points()) starts.push_back(scored(std::move(u)));
    for (std::size_t i = 0; i < starts.size(); ++i) {
      all.push_back(climb(std::move(starts[i]), rng.split("climb").split(i), scored));
    }
    std::stable_sort(all.begin(), all.end(), better);
    return all;
  }

  /// Returns the points of the best results in the unit cube. Feasible ones come first, failed ones last.
  std::vector<Point> best_points() const {
    const EvaluatedPoints& known = this->known();
    std::vector<std::tuple<bool, bool, double, std::size_t>> order;
    for (std::size_t i = 0; i < known.losses.size(); ++i) {
      const bool lost = std::isnan(known.losses[i]);
      order.emplace_back(!known.feasible(i), lost, lost ? 0 : known.losses[i], i);
    }
    std::sort(order.begin(), order.end());
    order.resize(std::min(kStarts, order.size()));
    std::vector<Point> out;
    for (const auto& place : order) {
      out.push_back(known.points.x[std::get<3>(place)]);
      out.back()[0] = (out.back()[0] + 0.5) / static_cast<double>(proposal_sampler_.bases().size());
    }
    return out;
  }

  /// Returns the result of a local search: one coordinate at a time moves by ever smaller steps, and a point with a
  /// higher score is kept.
  template <class Scored>
  Candidate climb(Candidate best, Rng rng, const Scored& scored) const {
    double step = 0.2;
    for (std::int64_t i = 0; i < kLocalSteps; ++i, step *= 0.92) {
      Point u = best.u;
      const std::size_t k = rng.below(u.size());
      u[k] = unordered_[k] ? rng.uniform() : std::clamp(u[k] + step * rng.normal(), 0.0, 1.0);
      Candidate moved = scored(std::move(u));
      if (moved.score > best.score) best = std::move(moved);
    }
    return best;
  }

  std::vector<bool> unordered_;
  std::vector<ModelledTrial> seen_;
  std::map<TrialId, std::map<std::int64_t, std::vector<double>>> excesses_;  ///< Excesses of running trials, by epoch.
  // Functions of seen_. They are kept because several slots use them.
  mutable std::optional<EvaluatedPoints> known_;
  mutable Improvement::Kernels kernels_;
  mutable std::size_t fitted_ = 0;  ///< Number of results to which kernels_ were fitted.
};

}  // namespace

StrategyPlugin gp_plugin() {
  using Kind = OptionSpec::Kind;
  StrategyPlugin plugin = learning_plugin<GaussianProcessSearch, Settings>(
      "gp",
      "Gaussian-process search by the first goal: the highest expected improvement within the constraints; mutations "
      "are random",
      {{&Settings::startup,
        number_option("startup", Kind::kInt, 10, 1, 10'000, "number of random trials before the model is used")},
       {&Settings::candidates, number_option("candidates", Kind::kInt, 1024, 1, 1'000'000,
                                             "points that are compared, of which the best "
                                             "are refined")},
       {&Settings::fantasies,
        number_option("fantasies", Kind::kInt, 128, 1, 10'000, "sampled outcomes of running trials")},
       {&Settings::refit,
        number_option("refit", Kind::kInt, 1, 1, 10'000, "results after which the kernel is fitted again")},
       {&Settings::observations, number_option("observations", Kind::kInt, 200, 2, 2'000,
                                               "results that the model uses: the best and the newest")}});
  plugin.make = [make = plugin.make](const Context& context,
                                     const Options& options) -> Result<std::unique_ptr<Sampler>> {
    if (context.goals.empty()) return Error{Code::kInvalidArgument, "gp needs a goal to model", "goals"};
    return make(context, options);
  };
  return plugin;
}

}  // namespace lanista::search
