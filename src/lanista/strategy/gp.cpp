#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>

#include "lanista/base/portable_math.h"
#include "lanista/space/unit.h"
#include "lanista/strategy/builtin.h"
#include "lanista/strategy/draw.h"
#include "lanista/strategy/gaussian_process.h"
#include "lanista/strategy/history.h"
#include "lanista/strategy/sobol.h"

namespace lanista::strategy {
namespace {

struct Settings {
  std::int64_t startup = 10;
  std::int64_t candidates = 1024;
  std::int64_t fantasies = 128;
  std::int64_t observations = 200;
  std::int64_t refit = 1;
  MutationCount mutations;
};

constexpr std::size_t kStarts = 4;        ///< that a local search improves: of the candidates, and of the best results
constexpr std::int64_t kLocalSteps = 60;  ///< of each

/// Bayesian optimisation with an exact Gaussian process by the first goal: kernel, priors and start-up of Optuna's
/// sampler; the next trial is the one with the highest logarithm of the expected improvement among a scrambled Sobol
/// set and what a local search makes of its best and of the best results (Hutter et al., 2011). Running trials are
/// conditioned on: the improvement is averaged over fantasies of what they will give (Snoek et al., 2012). A parameter
/// that is not active stands at the middle of its range: what it depends on tells the branches apart. Mutations of the
/// base model are drawn at random.
class Gp final : public Folding {
 public:
  Gp(const Context& context, std::unique_ptr<StoppingRule> rule, const Settings& settings)
      : Folding(context, std::move(rule)),
        settings_(settings),
        drawer_(context, settings.mutations),
        history_(context) {
    unordered_.push_back(true);  // the base model
    for (const space::Parameter& parameter : context.params.parameters()) {
      unordered_.push_back(std::holds_alternative<space::Categorical>(parameter.domain));
    }
  }
  std::string_view name() const override { return "gp"; }

 protected:
  Result<std::optional<study::Proposal>> next(std::uint64_t, const Rng& rng, const Taken& taken) const override {
    if (static_cast<std::int64_t>(seen_.size()) >= settings_.startup) {
      std::uint64_t i = 0;
      for (const Candidate& candidate : ranked(rng, taken)) {
        auto proposal = drawer_.mutated(candidate.base, candidate.sample, rng.split("model").split(i++));
        if (!proposal && proposal.error().code != Code::kNotApplicable) return std::move(proposal).error();
        if (proposal && !taken.refuses(*proposal)) return std::optional(*std::move(proposal));
      }
      // All that promises something is known: look elsewhere.
    }
    return random_new(drawer_, rng, taken);
  }

  void fold(const study::Event& event) override {
    const auto ended = history_.observe(event);
    if (!ended || ended->outcome == study::OutcomeKind::kCancelled) return;
    const bool good = !ended->losses.empty() && ended->violation == 0;
    seen_.push_back({coordinates(ended->proposal), good ? ended->losses[0] : NAN});
    fit_.reset();
  }

 private:
  using Point = std::vector<double>;
  struct Seen {
    Point x;
    double loss;  ///< NaN: failed
  };
  struct Candidate {
    Point u;  ///< in the unit cube
    std::int64_t base = 0;
    space::Sample sample;
    double score = 0;
  };
  /// What the results alone say: the same for all proposals until the next result.
  struct Fit {
    Points points;
    std::vector<double> values;
    Kernel kernel;
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
    const auto bases = static_cast<double>(drawer_.bases().size());
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

  /// The newest of the first `count` results, standardised. A trial that failed or breaks a constraint counts as the
  /// worst that was measured.
  Fit standardised(std::size_t count) const {
    const auto limit = static_cast<std::size_t>(settings_.observations);
    double lowest = INFINITY, highest = -INFINITY;
    for (std::size_t i = 0; i < count; ++i) {
      if (!std::isfinite(seen_[i].loss)) continue;
      lowest = std::min(lowest, seen_[i].loss), highest = std::max(highest, seen_[i].loss);
    }
    if (lowest > highest) lowest = highest = 0;  // nothing was measured
    Fit made;
    made.points.unordered = unordered_;
    double mean = 0, square = 0;
    for (std::size_t i = count - std::min(limit, count); i < count; ++i) {
      made.points.x.push_back(seen_[i].x);
      made.values.push_back(std::isnan(seen_[i].loss) ? highest : std::clamp(seen_[i].loss, lowest, highest));
      mean += made.values.back();
    }
    mean /= static_cast<double>(made.values.size());
    for (double& y : made.values) square += (y - mean) * (y - mean);
    const double deviation = std::sqrt(square / static_cast<double>(made.values.size()));
    for (double& y : made.values) y = deviation > 0 && std::isfinite(deviation) ? (y - mean) / deviation : 0;
    return made;
  }

  /// All results under the kernel of the last refit, which depends on their number alone and not on who asked when.
  const Fit& fit() const {
    if (fit_) return *fit_;
    const auto startup = static_cast<std::size_t>(settings_.startup), refit = static_cast<std::size_t>(settings_.refit);
    const std::size_t last = startup + (seen_.size() - startup) / refit * refit;
    if (fitted_ != last) {
      const Fit old = standardised(last);
      kernel_ = fit_kernel(old.points, old.values);
      fitted_ = last;
    }
    fit_ = standardised(seen_.size());
    fit_->kernel = kernel_;
    return *fit_;
  }

  /// The process that knows the results and, in columns, fantasies of the pending trials; and the best value of each.
  struct Model {
    GaussianProcess process;
    std::vector<double> best;
  };
  Model model(const Taken& taken) const {
    const Fit& known = fit();
    std::vector<Point> pending;
    for (const auto& [trial, running] : history_.running()) pending.push_back(coordinates(running.proposal));
    for (const study::Proposal& proposal : taken.group()) pending.push_back(coordinates(proposal));
    const double best = *std::min_element(known.values.begin(), known.values.end());
    GaussianProcess process(known.points, {known.values}, known.kernel);
    if (pending.empty()) return {std::move(process), {best}};

    std::vector<std::vector<double>> normals;
    for (std::int64_t i = 0; i < settings_.fantasies; ++i) {
      // The same for every proposal.
      normals.push_back(sobol_point(pending.size(), static_cast<std::uint64_t>(i), Scramble::kShift, Rng(1)));
      for (double& u : normals.back()) u = normal_quantile(std::max(u, 1e-10));
    }
    Points all = known.points;
    all.x.insert(all.x.end(), pending.begin(), pending.end());
    std::vector<std::vector<double>> columns;
    std::vector<double> bests;
    for (const auto& fantasy : process.draws(pending, normals)) {
      columns.push_back(known.values);
      columns.back().insert(columns.back().end(), fantasy.begin(), fantasy.end());
      bests.push_back(std::min(best, *std::min_element(fantasy.begin(), fantasy.end())));
    }
    return {GaussianProcess(std::move(all), columns, known.kernel), std::move(bests)};
  }

  /// log of the mean of the expected improvements.
  static double score(const Model& model, const Point& x) {
    const GaussianProcess::Prediction seen = model.process.predict(x);
    const double sigma = std::sqrt(seen.variance);
    std::vector<double> logs;
    for (std::size_t i = 0; i < seen.means.size(); ++i) {
      logs.push_back(log_improvement((model.best[i] - seen.means[i]) / sigma));
    }
    const double highest = *std::max_element(logs.begin(), logs.end());
    double sum = 0;
    for (const double log : logs) sum += portable_exp(log - highest);
    return highest + portable_log(sum / static_cast<double>(logs.size())) + portable_log(sigma);
  }

  /// Candidates, the most promising first; at most kMaxDraws.
  std::vector<Candidate> ranked(const Rng& rng, const Taken& taken) const {
    const Model model = this->model(taken);
    const auto scored = [&](Point u) {
      Candidate out = candidate(std::move(u));
      out.score = score(model, coordinates(out.base, out.sample));
      return out;
    };
    const auto better = [](const Candidate& a, const Candidate& b) { return a.score > b.score; };
    std::vector<Candidate> all;
    for (std::int64_t i = 0; i < settings_.candidates; ++i) {
      all.push_back(
          scored(sobol_point(unordered_.size(), static_cast<std::uint64_t>(i), Scramble::kShift, rng.split("sobol"))));
    }
    std::stable_sort(all.begin(), all.end(), better);
    all.resize(std::min(all.size(), static_cast<std::size_t>(kMaxDraws)));
    std::vector<Candidate> starts(all.begin(),
                                  all.begin() + static_cast<std::ptrdiff_t>(std::min(kStarts, all.size())));
    for (Point& u : best_points()) starts.push_back(scored(std::move(u)));
    for (std::size_t i = 0; i < starts.size(); ++i) {
      all.push_back(climb(std::move(starts[i]), rng.split("climb").split(i), scored));
    }
    std::stable_sort(all.begin(), all.end(), better);
    return all;
  }

  /// Where the best results lie in the unit cube.
  std::vector<Point> best_points() const {
    const Fit& known = fit();
    std::vector<std::size_t> order(known.values.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return known.values[a] < known.values[b]; });
    order.resize(std::min(kStarts, order.size()));
    std::vector<Point> out;
    for (const std::size_t i : order) {
      out.push_back(known.points.x[i]);
      out.back()[0] = (out.back()[0] + 0.5) / static_cast<double>(drawer_.bases().size());
    }
    return out;
  }

  /// Moves one coordinate at a time, by ever smaller steps, and keeps what scores higher.
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

  Settings settings_;
  Drawer drawer_;
  History history_;
  std::vector<bool> unordered_;
  std::vector<Seen> seen_;
  // Functions of seen_, kept because all slots ask for them.
  mutable std::optional<Fit> fit_;
  mutable Kernel kernel_;
  mutable std::size_t fitted_ = 0;  ///< results that kernel_ was fitted to
};

}  // namespace

StrategyPlugin gp_plugin() {
  using Kind = OptionSpec::Kind;
  return {
      "gp",
      "Gaussian-process search by the first goal: the trial with the highest expected improvement; mutations are drawn "
      "at random",
      {number_option("startup", Kind::kInt, 10, 1, 10'000, "results before the model is asked; until then random"),
       number_option("candidates", Kind::kInt, 1024, 1, 1'000'000, "points of which the best are looked at closely"),
       number_option("fantasies", Kind::kInt, 128, 1, 10'000, "guesses at what running trials will give"),
       number_option("refit", Kind::kInt, 1, 1, 10'000, "results after which the kernel is fitted anew"),
       number_option("observations", Kind::kInt, 200, 2, 2'000, "newest results that the model knows"),
       mutation_count_option()},
      [](const Context& context, const Options& options,
         std::unique_ptr<StoppingRule> rule) -> Result<std::unique_ptr<Strategy>> {
        if (context.goals.empty()) return Error{Code::kInvalidArgument, "gp needs a goal to model", "goals"};
        Settings settings;
        settings.startup = options.at("startup").get<std::int64_t>();
        settings.candidates = options.at("candidates").get<std::int64_t>();
        settings.fantasies = options.at("fantasies").get<std::int64_t>();
        settings.observations = options.at("observations").get<std::int64_t>();
        settings.refit = options.at("refit").get<std::int64_t>();
        LANISTA_ASSIGN(settings.mutations, mutation_count(options));
        return std::unique_ptr<Strategy>(std::make_unique<Gp>(context, std::move(rule), settings));
      }};
}

}  // namespace lanista::strategy
