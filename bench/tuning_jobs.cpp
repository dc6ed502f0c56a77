#include "bench/tuning_jobs.h"

#include <algorithm>

#include "lanista/base/portable_math.h"
#include "lanista/engine/forecast/simulated_study.h"
#include "lanista/plan/elastic/bounds.h"

namespace lanista::bench {
namespace {

using plan::Arrival;
using plan::Prediction;
using plan::TrialEnd;

constexpr std::int64_t kBudget = 81, kEta = 3;
constexpr std::size_t kSlots = 16;  // most open trials of bohb and asha

/// Random configurations by number.
class Configurations {
 public:
  Configurations(std::uint64_t seed, const Workload& workload) : rng_(seed), workload_(workload) {}

  /// The loss of a configuration after `budget` units.
  double loss(std::int64_t number, std::int64_t budget) const { return engine::synthetic_loss(rng_, number, budget); }

  /// A trial that trains a configuration for `units` more units.
  Arrival part(std::int64_t id, std::int64_t number, std::int64_t units) const {
    Rng of = rng_.split("time").split(static_cast<std::uint64_t>(number));
    const double seconds = portable_exp(workload_.sigma * of.normal());
    const double serial = of.uniform(workload_.least_serial, workload_.most_serial);
    const double busy = of.uniform(workload_.least_busy, workload_.most_busy);
    Prediction actual = plan::prediction_of(seconds, serial, busy, 0, workload_.resize);
    actual.steps = static_cast<double>(units);
    Prediction expected = actual;
    expected.steps *= of.uniform(1 - workload_.error, 1 + workload_.error);
    return {id, expected, actual, {}};
  }

 private:
  Rng rng_;
  Workload workload_;
};

/// One bracket of successive halving.
struct Bracket {
  std::vector<std::int64_t> numbers;           ///< configurations of the current rung
  std::int64_t budget = 0;                     ///< units of the current rung
  std::int64_t before = 0;                     ///< units of the rung before
  std::size_t open = 0;                        ///< trials of the rung that have not ended
  std::vector<std::vector<Prediction>> rungs;  ///< trials of all rungs so far
};

/// The first rung of a bracket.
struct Shape {
  std::int64_t configurations = 0, budget = 0;
};

/// The brackets of Hyperband, with numbers of configurations rounded up or down.
std::vector<Shape> shapes(bool rounded_up) {
  std::int64_t s_max = 0;
  for (std::int64_t r = kEta; r <= kBudget; r *= kEta) ++s_max;
  std::vector<Shape> all;
  for (std::int64_t s = s_max; s >= 0; --s) {
    std::int64_t power = 1;
    for (std::int64_t k = 0; k < s; ++k) power *= kEta;
    const std::int64_t n = rounded_up ? ((s_max + 1) * power + s) / (s + 1) : (s_max + 1) / (s + 1) * power;
    all.push_back({n, kBudget / power});
  }
  return all;
}

/// The order of brackets: one after the other, the next one when slots are free, or all at the same time.
enum class Brackets { kInTurn, kOverlapping, kTogether };

/// Hyperband and BOHB.
class Halvings : public TuningJob {
 public:
  Halvings(std::uint64_t seed, const Workload& workload, Brackets brackets)
      : configurations_(seed, workload), brackets_(brackets), shapes_(shapes(brackets == Brackets::kTogether)) {}

  std::vector<Arrival> next(std::span<const TrialEnd> ended, std::size_t waiting, std::size_t running) override {
    std::vector<Arrival> arrivals;
    for (const TrialEnd& end : ended) {
      Bracket& bracket = begun_[of_trial_.at(end.id)];
      if (--bracket.open == 0) promote(bracket, arrivals);
    }
    const auto may_begin = [&] {
      if (begun_.size() == shapes_.size()) return false;
      if (brackets_ == Brackets::kTogether) return true;
      if (brackets_ == Brackets::kInTurn) return waiting + running + arrivals.size() == 0;
      return waiting + running + arrivals.size() < kSlots;
    };
    while (may_begin()) begin(arrivals);
    return arrivals;
  }

  Limit limit(const plan::Cluster& cluster) const override {
    Limit in_turn, longest;
    std::vector<Prediction> all;
    for (const Bracket& bracket : begun_) {
      Limit chain;
      for (const auto& rung : bracket.rungs) {
        const auto bounds = plan::bounds_of(rung, cluster);
        chain.dual += bounds.dual, chain.elastic += bounds.elastic;
        all.insert(all.end(), rung.begin(), rung.end());
      }
      in_turn.dual += chain.dual, in_turn.elastic += chain.elastic;
      longest.dual = std::max(longest.dual, chain.dual), longest.elastic = std::max(longest.elastic, chain.elastic);
    }
    if (brackets_ == Brackets::kInTurn) return in_turn;
    const double area = plan::bounds_of(all, cluster).area;
    return {std::max(area, longest.dual), std::max(area, longest.elastic)};
  }

  std::int64_t trials() const override { return static_cast<std::int64_t>(of_trial_.size()); }

 private:
  void begin(std::vector<Arrival>& arrivals) {
    const Shape shape = shapes_[begun_.size()];
    Bracket bracket;
    bracket.budget = shape.budget;
    for (std::int64_t i = 0; i < shape.configurations; ++i) bracket.numbers.push_back(configurations_made_++);
    begun_.push_back(std::move(bracket));
    add_arrival(begun_.size() - 1, arrivals);
  }

  void promote(Bracket& bracket, std::vector<Arrival>& arrivals) {
    const std::size_t kept = bracket.numbers.size() / static_cast<std::size_t>(kEta);
    if (bracket.budget >= kBudget || kept == 0) return;
    std::ranges::stable_sort(bracket.numbers, {},
                             [&](std::int64_t number) { return configurations_.loss(number, bracket.budget); });
    bracket.numbers.resize(kept);
    std::ranges::sort(bracket.numbers);
    bracket.before = bracket.budget;
    bracket.budget *= kEta;
    add_arrival(static_cast<std::size_t>(&bracket - begun_.data()), arrivals);
  }

  void add_arrival(std::size_t which, std::vector<Arrival>& arrivals) {
    Bracket& bracket = begun_[which];
    bracket.rungs.emplace_back();
    for (const std::int64_t number : bracket.numbers) {
      const auto id = static_cast<std::int64_t>(of_trial_.size());
      of_trial_[id] = which;
      arrivals.push_back(configurations_.part(id, number, bracket.budget - bracket.before));
      bracket.rungs.back().push_back(arrivals.back().actual);
    }
    bracket.open = bracket.numbers.size();
  }

  Configurations configurations_;
  Brackets brackets_;
  std::vector<Shape> shapes_;
  std::vector<Bracket> begun_;
  std::map<std::int64_t, std::size_t> of_trial_;
  std::int64_t configurations_made_ = 0;
};

/// ASHA by promotion (Li et al., MLSys'20, algorithm 2).
class Promotions : public TuningJob {
 public:
  Promotions(std::uint64_t seed, const Workload& workload) : configurations_(seed, workload) {
    for (std::int64_t budget = 1; budget <= kBudget; budget *= kEta) rungs_.push_back({budget, {}, {}});
  }

  std::vector<Arrival> next(std::span<const TrialEnd> ended, std::size_t waiting, std::size_t running) override {
    for (const TrialEnd& end : ended) {
      const Part part = of_trial_.at(end.id);
      rungs_[part.rung].results.push_back({configurations_.loss(part.number, rungs_[part.rung].budget), part.number});
    }
    std::vector<Arrival> arrivals;
    while (waiting + running + arrivals.size() < kSlots) {
      if (!promote(arrivals) && !begin(arrivals)) break;
    }
    return arrivals;
  }

  Limit limit(const plan::Cluster& cluster) const override {
    std::vector<double> lengths;
    for (const auto& [number, seconds] : chains_) {
      lengths.push_back(0);
      for (const Prediction& part : seconds) {
        const auto widest = std::min(cluster.widest, cluster.workers);
        lengths.back() += plan::seconds_at(part, plan::fastest_width(part, widest));
      }
    }
    const double bound = asynchronous_bound(parts_, lengths, cluster);
    return {bound, bound};
  }

  std::int64_t trials() const override { return static_cast<std::int64_t>(of_trial_.size()); }

 private:
  struct Result {
    double loss = 0;
    std::int64_t number = 0;
    auto operator<=>(const Result&) const = default;
  };
  struct Rung {
    std::int64_t budget = 0;
    std::vector<Result> results;
    std::vector<std::int64_t> promoted;
  };
  struct Part {
    std::int64_t number = 0;
    std::size_t rung = 0;
  };

  bool promote(std::vector<Arrival>& arrivals) {
    for (std::size_t k = rungs_.size() - 1; k-- > 0;) {
      Rung& rung = rungs_[k];
      std::ranges::sort(rung.results);
      const std::size_t best = rung.results.size() / static_cast<std::size_t>(kEta);
      for (std::size_t i = 0; i < best; ++i) {
        const std::int64_t number = rung.results[i].number;
        if (std::ranges::find(rung.promoted, number) != rung.promoted.end()) continue;
        rung.promoted.push_back(number);
        add_arrival(number, k + 1, rungs_[k + 1].budget - rung.budget, arrivals);
        return true;
      }
    }
    return false;
  }

  bool begin(std::vector<Arrival>& arrivals) {
    if (begun_ == kBudget) return false;
    add_arrival(begun_++, 0, rungs_.front().budget, arrivals);
    return true;
  }

  void add_arrival(std::int64_t number, std::size_t rung, std::int64_t units, std::vector<Arrival>& arrivals) {
    const auto id = static_cast<std::int64_t>(of_trial_.size());
    of_trial_[id] = {number, rung};
    arrivals.push_back(configurations_.part(id, number, units));
    parts_.push_back(arrivals.back().actual);
    chains_[number].push_back(arrivals.back().actual);
  }

  Configurations configurations_;
  std::vector<Rung> rungs_;
  std::map<std::int64_t, Part> of_trial_;
  std::vector<Prediction> parts_;
  std::map<std::int64_t, std::vector<Prediction>> chains_;
  std::int64_t begun_ = 0;
};

}  // namespace

std::unique_ptr<TuningJob> make_tuning_job(const std::string& algorithm, std::uint64_t seed, const Workload& workload) {
  if (algorithm == "syncbohb") return std::make_unique<Halvings>(seed, workload, Brackets::kInTurn);
  if (algorithm == "bohb") return std::make_unique<Halvings>(seed, workload, Brackets::kOverlapping);
  if (algorithm == "hyperband") return std::make_unique<Halvings>(seed, workload, Brackets::kTogether);
  if (algorithm == "asha") return std::make_unique<Promotions>(seed, workload);
  return nullptr;
}

std::vector<std::string> tuning_jobs() { return {"syncbohb", "bohb", "hyperband", "asha"}; }

double asynchronous_bound(std::span<const plan::Prediction> parts, std::span<const double> chains,
                          const plan::Cluster& cluster) {
  double bound = plan::bounds_of(parts, cluster).area;
  for (const double chain : chains) bound = std::max(bound, chain);
  return bound;
}

}  // namespace lanista::bench
