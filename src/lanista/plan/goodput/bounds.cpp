#include "lanista/plan/goodput/bounds.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <queue>

#include "lanista/plan/goodput/packing.h"

namespace lanista::goodput {
namespace {

constexpr double kForever = std::numeric_limits<double>::infinity();

struct LeastCost {
  double seconds = 0;         ///< Seconds of a job that has the cluster alone.
  double device_seconds = 0;  ///< Least device-seconds, at any speed.
};

/// Returns the seconds of a unit of progress on k devices at the best batch size, for each epoch.
std::vector<double> fastest_on(const Application& application, const Nodes& nodes, std::int32_t k, bool pinned) {
  const BatchLimits& limits = application.limits();
  std::vector<double> fastest(static_cast<std::size_t>(application.epochs()), kForever);
  if (!is_packable(k, nodes) || k * limits.min_local > limits.most) return fastest;
  std::vector<std::int32_t> placement;
  for (std::int32_t left = k; left > 0; left -= placement.back()) placement.push_back(std::min(left, nodes.devices));
  const double first = static_cast<double>(std::max(limits.initial, limits.min_local * k));
  for (int i = 0; i < 50; ++i) {
    const double wanted = pinned ? static_cast<double>(limits.most)
                                 : first * std::pow(static_cast<double>(limits.most) / first, i / 49.0);
    const BatchPlan plan = plan_of_total(limits, static_cast<std::int64_t>(std::llround(wanted)), k);
    const std::int64_t batch = plan.total(k);
    if (plan.local < limits.min_local || batch < limits.initial || batch > limits.most) continue;
    const StepTimes times = application.step_times(placement, plan.local);
    const double step = times.step + (times.step - times.sync) * static_cast<double>(plan.accumulations);
    for (std::int64_t e = 0; e < application.epochs(); ++e) {
      const double gain =
          gain_of(application.gradients(batch, e), static_cast<double>(batch) / static_cast<double>(limits.initial));
      double& at = fastest[static_cast<std::size_t>(e)];
      at = std::min(at, step / gain);
    }
    if (pinned) break;
  }
  return fastest;
}

/// Returns the progress of an epoch.
double progress_in(const Application& application, std::size_t epoch) {
  const auto e = static_cast<std::int64_t>(epoch);
  return application.progress_after(e + 1) - application.progress_after(e);
}

/// Returns the least time and the least device-seconds of an application.
LeastCost least_cost_of(const Application& application, const Nodes& nodes, bool pinned) {
  std::vector<double> fastest(static_cast<std::size_t>(application.epochs()), kForever), thriftiest = fastest;
  for (std::int32_t k = 1; k <= (pinned ? 1 : nodes.total()); ++k) {
    const auto here = fastest_on(application, nodes, k, pinned);
    for (std::size_t e = 0; e < here.size(); ++e) {
      fastest[e] = std::min(fastest[e], here[e]);
      thriftiest[e] = std::min(thriftiest[e], here[e] * k);
    }
  }
  LeastCost least;
  for (std::size_t e = 0; e < fastest.size(); ++e) {
    least.seconds += progress_in(application, e) * fastest[e];
    least.device_seconds += progress_in(application, e) * thriftiest[e];
  }
  return least;
}

}  // namespace

std::vector<double> best_seconds_by_devices(const Application& application, const Nodes& nodes) {
  std::vector<double> all;
  for (std::int32_t k = 1; k <= nodes.total(); ++k) {
    const auto fastest = fastest_on(application, nodes, k, false);
    double seconds = 0;
    for (std::size_t e = 0; e < fastest.size(); ++e) seconds += progress_in(application, e) * fastest[e];
    all.push_back(seconds);
  }
  return all;
}

double shortest_first_mean(std::span<const double> arrivals, std::span<const double> work, double devices) {
  std::vector<std::size_t> order(arrivals.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::sort(order, {}, [&](std::size_t i) { return arrivals[i]; });
  using Left = std::pair<double, std::size_t>;
  std::priority_queue<Left, std::vector<Left>, std::greater<>> queue;
  double now = 0, sum = 0;
  std::size_t next = 0;
  while (next < order.size() || !queue.empty()) {
    if (queue.empty()) now = std::max(now, arrivals[order[next]]);
    for (; next < order.size() && arrivals[order[next]] <= now; ++next) {
      queue.push({work[order[next]] / devices, order[next]});
    }
    const auto [seconds, job] = queue.top();
    queue.pop();
    const double until = next < order.size() ? arrivals[order[next]] : kForever;
    if (now + seconds <= until) {
      now += seconds;
      sum += now - arrivals[job];
    } else {
      queue.push({seconds - (until - now), job});
      now = until;
    }
  }
  return arrivals.empty() ? 0 : sum / static_cast<double>(arrivals.size());
}

CompletionBounds bounds_of(const Workload& workload, const Nodes& nodes, bool pins_ncf) {
  std::vector<LeastCost> of_application;
  for (const auto& application : workload.applications) {
    of_application.push_back(least_cost_of(*application, nodes, pins_ncf && application->name() == "ncf"));
  }
  CompletionBounds bounds;
  std::vector<double> arrivals, work;
  for (const Submission& job : workload.jobs) {
    const LeastCost& least = of_application[job.application];
    bounds.isolation += least.seconds * job.length / static_cast<double>(workload.jobs.size());
    arrivals.push_back(job.time);
    work.push_back(least.device_seconds * job.length);
  }
  bounds.work = shortest_first_mean(arrivals, work, nodes.total());
  return bounds;
}

}  // namespace lanista::goodput
