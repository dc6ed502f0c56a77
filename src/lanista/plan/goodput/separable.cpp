#include "lanista/plan/goodput/separable.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "lanista/base/portable_math.h"
#include "lanista/plan/goodput/knapsack.h"
#include "lanista/plan/goodput/packing.h"

namespace lanista::cluster {
namespace {

/// Jobs of a kind.
struct Kind {
  double finished = 0;     ///< what finished ones had done, in sum
  std::int64_t count = 0;  ///< of finished ones
  double furthest = 0;     ///< the most that one under way has done
};

/// What finished jobs had done was told a little before their end, so who is this far past their mean is at his end.
constexpr double kAtItsEnd = 1.05;

class Separable : public Allocator {
 public:
  explicit Separable(const SeparableOptions& options) : options_(options) {}
  std::string_view name() const override {
    return options_.goal == Goal::kHarmonic ? "exact-harmonic" : "exact-finish";
  }

  std::vector<Allocation> allocate(const Situation& situation) override {
    learn(situation);
    lists_.choices.clear();
    lists_.ends.clear();
    lists_.list_of.clear();
    recent_.clear();
    for (std::size_t j = 0; j < situation.jobs.size(); ++j) lists_.list_of.push_back(list_for(situation, j));
    return pack(crowd_counts(lists_, situation.nodes.total()), situation.current, situation.nodes);
  }

 private:
  struct Seen {
    std::int64_t id = 0, kind = 0;
    double done = 0;
  };
  /// Of a job with no goodput yet: all that its choices depend on.
  struct Newcomer {
    double worth = 0;  ///< what is left of it, or the factor of a change
    std::int32_t most = 0, had = 0;
    bool operator==(const Newcomer&) const = default;
  };

  void learn(const Situation& situation) {
    std::vector<Seen> now;
    now.reserve(situation.jobs.size());
    for (const JobView& job : situation.jobs) now.push_back({job.id, job.kind, job.goodput_service});
    if (!std::ranges::is_sorted(now, {}, &Seen::id)) std::ranges::sort(now, {}, &Seen::id);
    auto next = now.begin();
    for (const Seen& seen : seen_) {
      while (next != now.end() && next->id < seen.id) ++next;
      if (next != now.end() && next->id == seen.id) continue;
      Kind& kind = kinds_[seen.kind];
      kind.finished += seen.done;
      ++kind.count;
    }
    for (auto& [number, kind] : kinds_) kind.furthest = 0;
    for (const Seen& job : now) {
      Kind& kind = kinds_[job.kind];
      kind.furthest = std::max(kind.furthest, job.done);
    }
    seen_ = std::move(now);
  }

  /// Useful examples that a job is guessed to need still.
  double left_of(const JobView& job, double first_rate) const {
    if (options_.guess == SizeGuess::kBudget && job.left) return std::max(*job.left, first_rate);
    double size = 2 * job.goodput_service;
    if (options_.guess == SizeGuess::kKind) {
      const Kind& kind = kinds_.at(job.kind);
      const double mean = kind.count > 0 ? kind.finished / static_cast<double>(kind.count) : 0;
      // A minute at least: it may be past what the others needed.
      if (job.goodput_service < kAtItsEnd * mean) return std::max(mean - job.goodput_service, 60 * first_rate);
      size = 2 * kind.furthest;
    }
    return std::max(size - job.goodput_service, options_.newcomer * first_rate);
  }

  /// The job's list, which newcomers that are alike share.
  std::uint32_t list_for(const Situation& situation, std::size_t j) {
    constexpr std::size_t kRemembered = 8;
    const JobView& job = situation.jobs[j];
    const Newcomer newcomer{
        options_.goal == Goal::kHarmonic ? restart_factor(job, situation.restart_seconds) : left_of(job, 1), job.most,
        devices_of(situation.current[j])};
    if (job.goodput == nullptr) {
      for (const auto& [known, list] : recent_) {
        if (known == newcomer) return list;
      }
    }
    add_choices(situation, j, lists_.choices);
    lists_.ends.push_back(lists_.choices.size());
    const auto list = static_cast<std::uint32_t>(lists_.ends.size() - 1);
    if (job.goodput != nullptr) return list;
    if (recent_.size() < kRemembered) {
      recent_.emplace_back(newcomer, list);
    } else {
      recent_[list % kRemembered] = {newcomer, list};
    }
    return list;
  }

  void add_choices(const Situation& situation, std::size_t j, std::vector<Choice>& all) const {
    const JobView& job = situation.jobs[j];
    const std::int32_t total = situation.nodes.total(), had = devices_of(situation.current[j]);
    if (options_.goal == Goal::kHarmonic) {
      const double fair = std::ceil(static_cast<double>(total) / static_cast<double>(situation.jobs.size()));
      const double factor = restart_factor(job, situation.restart_seconds);
      const double unit = job.goodput != nullptr ? job.goodput->packed(1, situation.nodes.devices) : 1;
      double fair_rate = fair;
      if (job.goodput != nullptr) {
        const BatchLimits& limits = job.goodput->model().limits;
        const auto widest = static_cast<double>(std::max<std::int64_t>(1, limits.most / limits.least_local));
        fair_rate = job.goodput->at(1, static_cast<std::int64_t>(std::min(fair, widest)));
      }
      if (fair_rate <= 0) fair_rate = unit;
      for_counts(situation, job, [&](std::int32_t k) {
        const double rate = job.goodput == nullptr ? k : job.goodput->packed(k, situation.nodes.devices);
        const double scaled = rate / fair_rate * situation.nodes.count / total * (k == had ? 1 : factor);
        all.push_back({k, -1 / (scaled + 1e-3)});
      });
      return;
    }
    const double one = job.goodput != nullptr ? job.goodput->packed(1, situation.nodes.devices) : 1;
    const double left = left_of(job, one);
    for_counts(situation, job, [&](std::int32_t k) {
      double rate = job.goodput == nullptr ? k : job.goodput->packed(k, situation.nodes.devices);
      // Who changes stands still for a part of the horizon, or of what is left of it.
      if (k != had && k > 0) {
        const double seconds = std::min(options_.horizon, left / rate + situation.restart_seconds);
        rate *= std::max(0.0, 1 - situation.restart_seconds / seconds);
      }
      all.push_back({k, rate > 0 ? portable_pow(rate / left, options_.power) : 0});
    });
  }

  template <class Visit>
  static void for_counts(const Situation& situation, const JobView& job, Visit visit) {
    const std::int32_t most = std::min(job.most, situation.nodes.total());
    visit(0);
    for (std::int32_t k = 1; k <= most; ++k) {
      if (packs(k, situation.nodes)) visit(k);
    }
  }

  SeparableOptions options_;
  std::vector<Seen> seen_;  ///< by id
  std::map<std::int64_t, Kind> kinds_;
  ChoiceLists lists_;
  std::vector<std::pair<Newcomer, std::uint32_t>> recent_;
};

}  // namespace

std::unique_ptr<Allocator> separable(const SeparableOptions& options) { return std::make_unique<Separable>(options); }

}  // namespace lanista::cluster
