#include "lanista/plan/goodput/simulate.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "lanista/plan/goodput/simulated_job.h"

namespace lanista::goodput {

double ClusterResult::mean_completion() const {
  double sum = 0;
  for (const JobOutcome& job : jobs) sum += job.ended - job.submitted;
  return jobs.empty() ? 0 : sum / static_cast<double>(jobs.size());
}

double ClusterResult::completion_quantile(double part) const {
  if (jobs.empty()) return 0;
  std::vector<double> times;
  for (const JobOutcome& job : jobs) times.push_back(job.ended - job.submitted);
  std::ranges::sort(times);
  const double rank = std::ceil(part * static_cast<double>(times.size()) - 1e-9);
  return times[static_cast<std::size_t>(std::max(rank, 1.0)) - 1];
}

double ClusterResult::device_seconds() const {
  double sum = 0;
  for (const JobOutcome& job : jobs) sum += job.device_seconds;
  return sum;
}

std::int64_t ClusterResult::restarts() const {
  std::int64_t sum = 0;
  for (const JobOutcome& job : jobs) sum += job.restarts;
  return sum;
}

namespace {

class Simulation {
 public:
  Simulation(const Workload& workload, Allocator& allocator, const SimulationOptions& options)
      : workload_(workload), allocator_(allocator), options_(options) {
    std::vector<std::shared_ptr<JobProfile>> shared;
    for (std::size_t a = 0; a < workload.applications.size(); ++a) shared.push_back(std::make_shared<JobProfile>());
    for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
      const Submission& job = workload.jobs[i];
      auto profile = options.shares_profiles ? shared[job.application] : std::make_shared<JobProfile>();
      profiles_.push_back(profile);
      jobs_.emplace_back(i, job, *workload.applications[job.application], std::move(profile), options_);
    }
    allocations_.resize(jobs_.size());
  }

  Result<ClusterResult> run() {
    while (!std::ranges::all_of(jobs_, [](const SimulatedJob& job) { return job.finished(); })) {
      if (now_ >= options_.until) {
        return Error{Code::kFailedPrecondition,
                     std::string(allocator_.name()) + ": jobs are left after " + std::to_string(now_) + " s", ""};
      }
      advance();
      LANISTA_TRY(decide());
    }
    for (const SimulatedJob& job : jobs_) {
      result_.jobs.push_back(job.finish());
      result_.makespan = std::max(result_.makespan, result_.jobs.back().ended);
    }
    std::set<const JobProfile*> counted;
    for (const auto& profile : profiles_) {
      if (counted.insert(profile.get()).second) result_.fits += profile->fits();
    }
    return result_;
  }

 private:
  void advance() {
    std::vector<std::int32_t> distributed(static_cast<std::size_t>(options_.nodes.count), 0);
    for (const Allocation& allocation : allocations_) {
      if (!is_distributed(allocation)) continue;
      for (const NodeShare& share : allocation) ++distributed[static_cast<std::size_t>(share.node)];
    }
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      const bool meets =
          is_distributed(allocations_[i]) && std::ranges::any_of(allocations_[i], [&](const NodeShare& share) {
            return distributed[static_cast<std::size_t>(share.node)] > 1;
          });
      jobs_[i].advance(options_.interval, meets ? options_.interference : 0);
    }
    now_ += options_.interval;
  }

  Result<void> decide() {
    std::vector<JobView> views;
    std::vector<Allocation> current;
    std::vector<std::size_t> index;
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      if (jobs_[i].finished()) allocations_[i].clear();
      if (jobs_[i].finished() || workload_.jobs[i].time > now_) continue;
      index.push_back(i);
      views.push_back(jobs_[i].view(now_));
      current.push_back(allocations_[i]);
    }
    if (index.empty()) return {};
    const AllocatorState state{now_, options_.nodes, options_.assumed_restart_seconds, views, current};
    const std::vector<Allocation> decided = allocator_.allocate(state);
    if (const auto checked = check_allocations(state, decided); !checked) {
      return Error{checked.error().code, std::string(allocator_.name()) + ": " + checked.error().message, ""};
    }
    ++result_.decisions;
    for (std::size_t j = 0; j < index.size(); ++j) {
      if (decided[j] == current[j]) continue;
      allocations_[index[j]] = decided[j];
      jobs_[index[j]].reallocate(decided[j]);
    }
    return {};
  }

  const Workload& workload_;
  Allocator& allocator_;
  const SimulationOptions& options_;
  std::vector<std::shared_ptr<JobProfile>> profiles_;
  std::vector<SimulatedJob> jobs_;
  std::vector<Allocation> allocations_;
  double now_ = 0;
  ClusterResult result_;
};

}  // namespace

Result<ClusterResult> simulate(const Workload& workload, Allocator& allocator, const SimulationOptions& options) {
  return Simulation(workload, allocator, options).run();
}

}  // namespace lanista::goodput
