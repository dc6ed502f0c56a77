#pragma once

#include <optional>
#include <vector>

#include "lanista/plan/goodput/allocation.h"
#include "lanista/plan/goodput/fit.h"
#include "lanista/plan/goodput/workload.h"

// A cluster on a clock of its own, with the semantics of the simulator of Pollux's artefact.
namespace lanista::cluster {

/// What jobs may do by themselves.
enum class JobFreedom {
  kRigid,     ///< replicas and batch as their users ask for
  kElastic,   ///< the batch as its user asks for, any replicas
  kAdaptive,  ///< batch and replicas follow goodput
};

struct SimulationOptions {
  Nodes nodes;
  double interval = 60;                 ///< seconds between decisions
  double restart_seconds = 30;          ///< that a job stands still when its devices change
  double assumed_restart_seconds = 30;  ///< what allocators believe of that
  double interference = 0;              ///< part of its speed that a distributed job loses beside another one on a node
  JobFreedom freedom = JobFreedom::kAdaptive;
  bool reveals_true_costs = false;  ///< fills JobView::truth
  bool reveals_budget = false;      ///< fills JobView::left
  /// Jobs of one application begin with what others of it measured: their step times, and gradients of their epoch.
  bool shares_profiles = false;
  /// Pollux's artefact gives `ncf` one device and its user's batch, whatever the policy: with kAdaptive.
  bool pins_ncf = true;
  double noise_factor = 1;  ///< what jobs believe of their gradient noise, over what is so
  double sync_factor = 1;   ///< what they measure of synchronisation, over what is so
  double until = 1e9;       ///< seconds after which a job that is not finished is an error
};

/// How a job went.
struct JobOutcome {
  std::size_t job = 0;
  double submitted = 0, began = 0, ended = 0;
  std::int32_t restarts = 0;
  double device_seconds = 0;
};

struct ClusterResult {
  std::vector<JobOutcome> jobs;  ///< in the order of the workload
  double makespan = 0;           ///< when the last one ended
  double mean_completion() const;
  /// The smallest time within which so many parts of one of the jobs were done; part in (0, 1].
  double completion_quantile(double part) const;
  double device_seconds() const;
  std::int64_t restarts() const;
  std::int64_t decisions = 0;
  std::int64_t fits = 0;  ///< of throughput models
};

/// Deterministic. Every interval: jobs go on, then the allocator decides on those that have come and are not finished.
/// A step's true time and gain are those measured of its application; a job's model is fitted to what it ran itself.
/// Progress is counted in scale-invariant steps, and a job ends after its application's epochs. Errors:
/// kInvalidArgument for a decision that check_allocations refuses, with the allocator's name; kFailedPrecondition if
/// jobs are left at `until`.
Result<ClusterResult> simulate(const Workload& workload, Allocator& allocator, const SimulationOptions& options = {});

}  // namespace lanista::cluster
