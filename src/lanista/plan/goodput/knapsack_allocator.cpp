#include "lanista/plan/goodput/knapsack_allocator.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "lanista/base/portable_math.h"
#include "lanista/plan/goodput/knapsack.h"
#include "lanista/plan/goodput/packing.h"

namespace lanista::goodput {
namespace {

/// What is known of the jobs of one kind.
struct JobKindStats {
  double finished = 0;     ///< Useful samples of finished jobs, in sum.
  std::int64_t count = 0;  ///< Number of finished jobs.
  double furthest = 0;     ///< Most useful samples of an unfinished job.
};

/// The samples of a finished job are those of its last view, a little before its end. So a job below this multiple of
/// their mean may be about to end.
constexpr double kPastMeanFactor = 1.05;

class KnapsackAllocator : public Allocator {
 public:
  explicit KnapsackAllocator(const KnapsackOptions& options) : options_(options) {}
  std::string_view name() const override {
    return options_.goal == Goal::kHarmonic ? "exact-harmonic" : "exact-finish";
  }

  std::vector<Allocation> allocate(const AllocatorState& state) override {
    observe_jobs(state);
    lists_.choices.clear();
    lists_.ends.clear();
    lists_.list_of.clear();
    recent_.clear();
    for (std::size_t j = 0; j < state.jobs.size(); ++j) lists_.list_of.push_back(list_for(state, j));
    return pack(solve_large(lists_, state.nodes.total()), state.current, state.nodes);
  }

 private:
  struct ObservedJob {
    std::int64_t id = 0, kind = 0;
    double done = 0;
  };
  /// Everything that the choices of a job without a goodput depend on.
  struct NewJobKey {
    double worth = 0;  ///< Its remaining samples, or the factor of a change.
    std::int32_t most = 0, had = 0;
    bool operator==(const NewJobKey&) const = default;
  };

  void observe_jobs(const AllocatorState& state) {
    std::vector<ObservedJob> now;
    now.reserve(state.jobs.size());
    for (const JobView& job : state.jobs) now.push_back({job.id, job.kind, job.goodput_service});
    if (!std::ranges::is_sorted(now, {}, &ObservedJob::id)) std::ranges::sort(now, {}, &ObservedJob::id);
    auto next = now.begin();
    for (const ObservedJob& seen : observed_jobs_) {
      while (next != now.end() && next->id < seen.id) ++next;
      if (next != now.end() && next->id == seen.id) continue;
      JobKindStats& kind = kinds_[seen.kind];
      kind.finished += seen.done;
      ++kind.count;
    }
    for (auto& [number, kind] : kinds_) kind.furthest = 0;
    for (const ObservedJob& job : now) {
      JobKindStats& kind = kinds_[job.kind];
      kind.furthest = std::max(kind.furthest, job.done);
    }
    observed_jobs_ = std::move(now);
  }

  /// Returns the estimated useful samples until the job ends.
  double left_of(const JobView& job, double first_rate) const {
    if (options_.guess == SizeGuess::kBudget && job.left) return std::max(*job.left, first_rate);
    double size = 2 * job.goodput_service;
    if (options_.guess == SizeGuess::kKind) {
      const JobKindStats& kind = kinds_.at(job.kind);
      const double mean = kind.count > 0 ? kind.finished / static_cast<double>(kind.count) : 0;
      // At least a minute, since the job may need more samples than the others.
      if (job.goodput_service < kPastMeanFactor * mean) return std::max(mean - job.goodput_service, 60 * first_rate);
      size = 2 * kind.furthest;
    }
    return std::max(size - job.goodput_service, options_.new_job_device_seconds * first_rate);
  }

  /// Returns the number of the job's list. Equal new jobs share a list.
  std::uint32_t list_for(const AllocatorState& state, std::size_t j) {
    constexpr std::size_t kMaxRecentLists = 8;
    const JobView& job = state.jobs[j];
    const NewJobKey new_job{
        options_.goal == Goal::kHarmonic ? restart_factor(job, state.restart_seconds) : left_of(job, 1), job.most,
        devices_of(state.current[j])};
    if (job.goodput == nullptr) {
      for (const auto& [known, list] : recent_) {
        if (known == new_job) return list;
      }
    }
    add_choices(state, j, lists_.choices);
    lists_.ends.push_back(lists_.choices.size());
    const auto list = static_cast<std::uint32_t>(lists_.ends.size() - 1);
    if (job.goodput != nullptr) return list;
    if (recent_.size() < kMaxRecentLists) {
      recent_.emplace_back(new_job, list);
    } else {
      recent_[list % kMaxRecentLists] = {new_job, list};
    }
    return list;
  }

  void add_choices(const AllocatorState& state, std::size_t j, std::vector<DeviceCount>& all) const {
    const JobView& job = state.jobs[j];
    const std::int32_t total = state.nodes.total(), had = devices_of(state.current[j]);
    if (options_.goal == Goal::kHarmonic) {
      const double fair = std::ceil(static_cast<double>(total) / static_cast<double>(state.jobs.size()));
      const double factor = restart_factor(job, state.restart_seconds);
      const double unit = job.goodput != nullptr ? job.goodput->packed(1, state.nodes.devices) : 1;
      double fair_rate = fair;
      if (job.goodput != nullptr) {
        const BatchLimits& limits = job.goodput->model().limits;
        const auto widest = static_cast<double>(std::max<std::int64_t>(1, limits.most / limits.min_local));
        fair_rate = job.goodput->at(1, static_cast<std::int64_t>(std::min(fair, widest)));
      }
      if (fair_rate <= 0) fair_rate = unit;
      for_counts(state, job, [&](std::int32_t k) {
        const double rate = job.goodput == nullptr ? k : job.goodput->packed(k, state.nodes.devices);
        const double scaled = rate / fair_rate * state.nodes.count / total * (k == had ? 1 : factor);
        all.push_back({k, -1 / (scaled + 1e-3)});
      });
      return;
    }
    const double one = job.goodput != nullptr ? job.goodput->packed(1, state.nodes.devices) : 1;
    const double left = left_of(job, one);
    for_counts(state, job, [&](std::int32_t k) {
      double rate = job.goodput == nullptr ? k : job.goodput->packed(k, state.nodes.devices);
      // A job that changes does not train for a part of the horizon, or of its remaining time.
      if (k != had && k > 0) {
        const double seconds = std::min(options_.horizon, left / rate + state.restart_seconds);
        rate *= std::max(0.0, 1 - state.restart_seconds / seconds);
      }
      all.push_back({k, rate > 0 ? portable_pow(rate / left, options_.power) : 0});
    });
  }

  template <class Visit>
  static void for_counts(const AllocatorState& state, const JobView& job, Visit visit) {
    const std::int32_t most = std::min(job.most, state.nodes.total());
    visit(0);
    for (std::int32_t k = 1; k <= most; ++k) {
      if (is_packable(k, state.nodes)) visit(k);
    }
  }

  KnapsackOptions options_;
  std::vector<ObservedJob> observed_jobs_;  ///< In ascending order of ids.
  std::map<std::int64_t, JobKindStats> kinds_;
  ChoiceLists lists_;
  std::vector<std::pair<NewJobKey, std::uint32_t>> recent_;
};

}  // namespace

std::unique_ptr<Allocator> knapsack_allocator(const KnapsackOptions& options) {
  return std::make_unique<KnapsackAllocator>(options);
}

}  // namespace lanista::goodput
