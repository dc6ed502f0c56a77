#include <algorithm>
#include <cmath>
#include <limits>
#include <ostream>

#include "bench/arms.h"
#include "bench/baselines/fluid_widths.h"
#include "bench/cluster.h"
#include "bench/group_end_allocator.h"
#include "lanista/base/file_system.h"
#include "lanista/base/portable_math.h"
#include "lanista/base/rng.h"
#include "lanista/plan/goodput/bounds.h"
#include "lanista/plan/goodput/genetic.h"
#include "lanista/plan/goodput/knapsack.h"
#include "lanista/plan/goodput/knapsack_allocator.h"
#include "lanista/plan/goodput/packing.h"
#include "lanista/plan/goodput/simulate.h"

namespace lanista::bench {
namespace {

using goodput::Allocation;
using goodput::Allocator;
using goodput::AllocatorState;
using goodput::JobView;

constexpr goodput::Nodes kNodes{16, 4};
constexpr double kInterval = 10;  ///< seconds between decisions of all arms; a trial may end after ten minutes

/// The largest number of devices, at most `count`, that packs.
std::int32_t largest_packable(std::int64_t count, const goodput::Nodes& nodes) {
  auto k = static_cast<std::int32_t>(std::min<std::int64_t>(count, nodes.total()));
  while (!goodput::is_packable(k, nodes)) --k;
  return k;
}

/// The seconds that a job still needs on k devices. Without a goodput model it assumes one example a second for each
/// device.
double seconds_with(const JobView& job, std::int32_t k, const goodput::Nodes& nodes) {
  return job.left.value_or(0) / (job.goodput == nullptr ? k : job.goodput->packed(k, nodes.devices));
}

/// The rules by which FormulaAllocator chooses the number of devices of a trial.
enum class WidthRule {
  kEqual,    ///< equal shares that never change
  kStatic,   ///< Fluid's algorithm 1: idle devices for waiting trials, shares never change
  kDynamic,  ///< Fluid's algorithm 2: all shares anew; a running trial changes where it ends sooner or costs less
};

/// An allocator by a formula. Numbers of devices are rounded down to numbers that pack. A trial without devices waits,
/// and the longest trials come first.
class FormulaAllocator : public Allocator {
 public:
  /// `widest` is the largest number of devices that the batch limits of a trial allow.
  FormulaAllocator(WidthRule rule, std::int32_t widest) : rule_(rule), widest_(widest) {}
  std::string_view name() const override { return "dealt"; }

  std::vector<Allocation> allocate(const AllocatorState& situation) override {
    const std::size_t jobs = situation.jobs.size();
    if (first_jobs_ == 0) first_jobs_ = static_cast<std::int64_t>(jobs);
    std::vector<std::int32_t> counts(jobs, 0);
    std::vector<std::size_t> order;
    std::int32_t idle = situation.nodes.total();
    for (std::size_t j = 0; j < jobs; ++j) {
      counts[j] = goodput::devices_of(situation.current[j]);
      idle -= counts[j];
      order.push_back(j);
    }
    const auto target_counts = target_counts_of(situation, counts, idle);
    // Running trials come first, and trials shrink before others grow.
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
      const auto rank = [&](std::size_t j) {
        return std::pair(counts[j] == 0 ? 1 : 0, -seconds_with(situation.jobs[j], 1, situation.nodes));
      };
      return rank(a) < rank(b);
    });
    for (const std::size_t j : order) {
      if (target_counts[j] < counts[j]) idle += counts[j] - target_counts[j], counts[j] = target_counts[j];
    }
    for (const std::size_t j : order) {
      const std::int32_t more =
          largest_packable(std::min(target_counts[j], counts[j] + idle), situation.nodes) - counts[j];
      if (more <= 0) continue;
      counts[j] += more;
      idle -= more;
    }
    return goodput::pack(counts, situation.current, situation.nodes);
  }

 private:
  // The numbers of devices by the rule.
  std::vector<std::int32_t> target_counts_of(const AllocatorState& situation,
                                             const std::vector<std::int32_t>& current_counts, std::int32_t idle) const {
    std::vector<std::int32_t> target_counts = current_counts;
    const plan::Cluster devices{.workers = situation.nodes.total(), .shares = 1, .widest = widest_};
    std::vector<double> seconds;
    std::vector<std::size_t> resized_jobs;
    for (std::size_t j = 0; j < current_counts.size(); ++j) {
      if (rule_ != WidthRule::kDynamic && current_counts[j] > 0) continue;
      seconds.push_back(seconds_with(situation.jobs[j], 1, situation.nodes));
      resized_jobs.push_back(j);
    }
    if (rule_ == WidthRule::kEqual) {
      for (const std::size_t j : resized_jobs) {
        target_counts[j] =
            largest_packable(std::clamp<std::int64_t>(devices.workers / first_jobs_, 1, widest_), situation.nodes);
      }
      return target_counts;
    }
    const auto widths = plan::static_widths(seconds, rule_ == WidthRule::kStatic ? idle : devices.workers, devices);
    for (std::size_t i = 0; i < resized_jobs.size(); ++i) {
      const std::size_t j = resized_jobs[i];
      const std::int32_t k = largest_packable(widths[i].workers, situation.nodes);
      if (current_counts[j] == 0 || is_worth_resizing(situation, j, current_counts[j], k)) target_counts[j] = k;
    }
    return target_counts;
  }

  // True for more devices if the trial ends sooner with the restart, for fewer if it needs less device time.
  static bool is_worth_resizing(const AllocatorState& situation, std::size_t j, std::int32_t current_counts,
                                std::int32_t k) {
    const double before = seconds_with(situation.jobs[j], current_counts, situation.nodes),
                 after = seconds_with(situation.jobs[j], k, situation.nodes) + situation.restart_seconds;
    return k > current_counts ? after < before : k < current_counts && k * after < current_counts * before;
  }

  WidthRule rule_;
  std::int32_t widest_;
  std::int64_t first_jobs_ = 0;
};

struct SearchArm {
  std::string name;
  std::unique_ptr<Allocator> allocator;
};

std::vector<SearchArm> search_arms(std::int32_t widest, std::uint64_t seed) {
  std::vector<SearchArm> arms;
  arms.push_back({"static", std::make_unique<FormulaAllocator>(WidthRule::kEqual, widest)});
  arms.push_back({"static-fluid", std::make_unique<FormulaAllocator>(WidthRule::kStatic, widest)});
  arms.push_back({"dynamic-fluid", std::make_unique<FormulaAllocator>(WidthRule::kDynamic, widest)});
  arms.push_back({"pollux", goodput::genetic({.population = 100, .generations = 100, .seed = seed, .widest = 16})});
  goodput::KnapsackOptions soonest{.goal = goodput::Goal::kFinish,
                                   .guess = goodput::SizeGuess::kBudget,
                                   .new_job_device_seconds = 3600,
                                   .power = 0.3};
  arms.push_back({"budget", goodput::knapsack_allocator(soonest)});
  arms.push_back({"combined", goodput::group_end_allocator()});
  return arms;
}

/// Trials of one application that arrive together, with 0.5 to 2 times its length.
goodput::Workload group_of(const std::shared_ptr<const goodput::Application>& application, int trials, Rng rng) {
  goodput::Workload group{{application}, {}};
  for (int i = 0; i < trials; ++i) {
    goodput::Submission trial;
    trial.name = std::to_string(i);
    trial.batch = application->limits().initial;
    trial.length = portable_pow(2, rng.uniform(-1, 1));
    group.jobs.push_back(trial);
  }
  return group;
}

/// Lower bounds on the makespan of a group in seconds.
struct GroupBounds {
  double all = 0;                                              ///< bound for all policies
  double bisection = std::numeric_limits<double>::infinity();  ///< best fixed widths, with known times and free starts
};

GroupBounds bounds_of(const goodput::Workload& group) {
  const goodput::Application& application = *group.applications.front();
  goodput::Workload one = group;
  one.jobs.resize(1);
  one.jobs.front().length = 1;
  const auto unit = goodput::bounds_of(one, kNodes);
  double longest = 0, sum = 0;
  for (const auto& trial : group.jobs) longest = std::max(longest, trial.length), sum += trial.length;
  GroupBounds bounds{.all = std::max(unit.isolation * longest, unit.work * sum)};
  auto within = goodput::best_seconds_by_devices(application, kNodes);
  for (std::size_t i = 1; i < within.size(); ++i) within[i] = std::min(within[i], within[i - 1]);
  std::vector<std::vector<double>> seconds;
  for (const auto& trial : group.jobs) {
    seconds.push_back(within);
    for (double& at : seconds.back()) at *= trial.length;
  }
  const auto counts = goodput::group_end_counts(seconds, kNodes.total());
  if (!counts.empty()) bounds.bisection = 0;
  for (std::size_t j = 0; j < counts.size(); ++j) {
    bounds.bisection = std::max(bounds.bisection, seconds[j][static_cast<std::size_t>(counts[j]) - 1]);
  }
  return bounds;
}

/// The values of an arm, one for each group.
struct Outcome {
  std::vector<double> makespan, best, device_hours, of_bound;
};

Result<void> search_group(const BenchRequest& request, const std::shared_ptr<const goodput::Application>& application,
                          int trials, std::ostream& out) {
  const int groups = request.seeds > 0 ? request.seeds : 3;
  const auto& limits = application->limits();
  const auto widest =
      static_cast<std::int32_t>(std::clamp<std::int64_t>(limits.most / limits.min_local, 1, kNodes.total()));
  std::vector<Outcome> outcomes(search_arms(widest, 0).size());
  std::vector<double> bounds, bisections;
  for (int g = 0; g < groups; ++g) {
    const auto seed = static_cast<std::uint64_t>(g);
    const auto group = group_of(application, trials, Rng(20).split(static_cast<std::uint64_t>(trials)).split(seed));
    const GroupBounds bound = bounds_of(group);
    bounds.push_back(bound.all);
    bisections.push_back(bound.bisection);
    goodput::SimulationOptions options;
    options.shares_profiles = options.reveals_budget = true;
    options.interval = kInterval;
    auto arms = search_arms(widest, seed);
    for (std::size_t a = 0; a < arms.size(); ++a) {
      LANISTA_ASSIGN(const goodput::ClusterResult simulation, goodput::simulate(group, *arms[a].allocator, options));
      // Epochs end at whole seconds, so a trial may be half a second early in each epoch.
      if (simulation.makespan < 0.98 * bound.all)
        return Error{Code::kInternal, arms[a].name + " ended before the bound", ""};
      outcomes[a].makespan.push_back(simulation.makespan);
      outcomes[a].best.push_back(simulation.mean_completion());
      outcomes[a].device_hours.push_back(simulation.device_seconds() / 3600);
      outcomes[a].of_bound.push_back(simulation.makespan / bound.all);
    }
  }
  const std::string name = "search-" + application->name() + "-" + std::to_string(trials);
  const auto arms = search_arms(widest, 0);
  const auto row = [&](const std::string& what, const std::string& arm, const std::string& unit,
                       const std::vector<double>& values) {
    print(summary("cluster", name + what, arm, unit, values), request.json, out);
  };
  for (std::size_t a = 0; a < arms.size(); ++a) {
    row("", arms[a].name, "s", outcomes[a].makespan);
    row("-best", arms[a].name, "s", outcomes[a].best);
    row("-devices", arms[a].name, "h", outcomes[a].device_hours);
    row("-of-bound", arms[a].name, "", outcomes[a].of_bound);
  }
  row("", "bisection", "s", bisections);
  row("", "bound", "s", bounds);
  return {};
}

}  // namespace

Result<void> cluster_search(const BenchRequest& request, std::ostream& out) {
  if (request.data.empty()) {
    return Error{Code::kInvalidArgument, "case search needs --data DIR, the folder of the applications' traces", ""};
  }
  FileSystem& fs = real_file_system();
  const std::string traces = fs.exists(request.data + "/traces") ? request.data + "/traces" : request.data;
  for (const char* name : {"cifar10", "deepspeech2"}) {
    LANISTA_ASSIGN(goodput::Application read, goodput::read_application(fs, traces, name));
    const auto application = std::make_shared<const goodput::Application>(std::move(read));
    for (const int trials : {4, 8, 16, 32, 64}) LANISTA_TRY(search_group(request, application, trials, out));
  }
  return {};
}

}  // namespace lanista::bench
