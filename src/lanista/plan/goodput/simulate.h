#pragma once

#include <optional>
#include <vector>

#include "lanista/plan/goodput/allocation.h"
#include "lanista/plan/goodput/fit.h"
#include "lanista/plan/goodput/workload.h"

// A simulated cluster with the semantics of the simulator of Pollux's artefact.
namespace lanista::cluster {

/// What jobs may choose by themselves.
enum class JobFreedom {
  kRigid,     ///< Nothing: replicas and batch are those that the user requests.
  kElastic,   ///< Any replicas; the batch is the one that the user requests.
  kAdaptive,  ///< Batch and replicas follow goodput.
};

/// Settings of a simulation.
struct SimulationOptions {
  Nodes nodes;                          ///< The cluster.
  double interval = 60;                 ///< Seconds between decisions.
  double restart_seconds = 30;          ///< Seconds without training after a change of devices.
  double assumed_restart_seconds = 30;  ///< The same, as allocators assume it.
  /// Part of its speed that a distributed job loses to another on a node.
  double interference = 0;
  JobFreedom freedom = JobFreedom::kAdaptive;  ///< What jobs may choose.
  bool reveals_true_costs = false;             ///< True: JobView::true_costs is set.
  bool reveals_budget = false;                 ///< True: JobView::left is set.
  bool shares_profiles = false;                ///< True: a job starts with the measurements of its application.
  /// True: `ncf` has one device and its user's batch, as in the artefact.
  bool pins_ncf = true;
  double noise_factor = 1;  ///< Gradient noise as jobs measure it over the true one.
  double sync_factor = 1;   ///< Synchronisation time as jobs measure it over the true one.
  double until = 1e9;       ///< Second at which unfinished jobs are an error.
};

/// The result of one job.
struct JobOutcome {
  std::size_t job = 0;        ///< Number in the workload.
  double submitted = 0;       ///< Second of its submission.
  double began = 0;           ///< Second of its first devices.
  double ended = 0;           ///< Second of its end.
  std::int32_t restarts = 0;  ///< Changes of its devices.
  double device_seconds = 0;  ///< Sum of its devices over time.
};

/// The result of a simulation.
struct ClusterResult {
  std::vector<JobOutcome> jobs;  ///< In the order of the workload.
  double makespan = 0;           ///< Second at which the last job ended.
  std::int64_t decisions = 0;    ///< Number of decisions of the allocator.
  std::int64_t fits = 0;         ///< Number of fits of throughput models.

  /// Returns the mean seconds from submission to end.
  double mean_completion() const;
  /// Returns the seconds within which a `part` of the jobs ended; part is in (0, 1].
  double completion_quantile(double part) const;
  /// Returns the device-seconds of all jobs.
  double device_seconds() const;
  /// Returns the restarts of all jobs.
  std::int64_t restarts() const;
};

/// Simulates a workload under an allocator. Deterministic.
///
/// In every interval jobs train, and then the allocator decides on submitted jobs that have not finished. Times and
/// gains of steps are those measured of the application. The model of a job is fitted to the steps that it ran itself.
/// Progress is scale-invariant, and a job ends after the epochs of its application.
/// Errors: kInvalidArgument with the allocator's name for a decision that check_allocations refuses;
/// kFailedPrecondition for jobs that have not finished at `until`.
Result<ClusterResult> simulate(const Workload& workload, Allocator& allocator, const SimulationOptions& options = {});

}  // namespace lanista::cluster
