#pragma once

#include <optional>
#include <vector>

#include "lanista/plan/goodput/allocation.h"
#include "lanista/plan/goodput/fit.h"
#include "lanista/plan/goodput/workload.h"

// A simulated cluster with the semantics of the simulator of Pollux's artefact.
namespace lanista::goodput {

/// What a job may choose by itself.
enum class JobFreedom {
  kRigid,     ///< Nothing: replicas and batch are those that the user requests.
  kElastic,   ///< Any replicas; the batch is the one that the user requests.
  kAdaptive,  ///< Batch and replicas follow goodput.
};

/// Settings of a simulation.
struct SimulationOptions {
  Nodes nodes;                          ///< Nodes and devices of the cluster.
  double interval = 60;                 ///< Seconds between decisions.
  double restart_seconds = 30;          ///< Seconds without training after a change of devices.
  double assumed_restart_seconds = 30;  ///< Value of `restart_seconds` that allocators see.
  /// Part of its speed (0 to 1) that a distributed job loses while another distributed job has devices on one of its
  /// nodes.
  double interference = 0;
  JobFreedom freedom = JobFreedom::kAdaptive;  ///< What jobs may choose.
  bool reveals_true_costs = false;             ///< True: JobView::true_costs is set.
  bool reveals_budget = false;                 ///< True: JobView::left is set.
  bool shares_profiles = false;                ///< True: a job starts with the measurements of its application.
  /// True: `ncf` has at most one device, except with kRigid. With kAdaptive it also has its largest batch. As in the
  /// artefact.
  bool pins_ncf = true;
  double noise_factor = 1;  ///< Gradient variance as jobs measure it, divided by the true one.
  double sync_factor = 1;   ///< Synchronisation time as jobs measure it, divided by the true one.
  double until = 1e9;       ///< Second from which unfinished jobs are an error.
};

/// The result of one job.
struct JobOutcome {
  std::size_t job = 0;        ///< Index in Workload::jobs.
  double submitted = 0;       ///< Second of its submission.
  double began = 0;           ///< Second of its first step, after its first start delay.
  double ended = 0;           ///< Second of its end.
  std::int32_t restarts = 0;  ///< Times that it got other devices; the first do not count.
  double device_seconds = 0;  ///< Devices times seconds, with the time of restarts.
};

/// The result of a simulation.
struct ClusterResult {
  std::vector<JobOutcome> jobs;  ///< Results in the order of Workload::jobs.
  double makespan = 0;           ///< Second at which the last job ended, from the start.
  std::int64_t decisions = 0;    ///< Number of decisions of the allocator.
  std::int64_t fits = 0;         ///< Number of fits of throughput models.

  /// Returns the mean over the jobs of the seconds from submission to end; 0 without jobs.
  double mean_completion() const;
  /// Returns the seconds after submission within which a `part` of the jobs ended; part is in (0, 1]. 0 without jobs.
  double completion_quantile(double part) const;
  /// Returns the sum of JobOutcome::device_seconds over all jobs.
  double device_seconds() const;
  /// Returns the sum of JobOutcome::restarts over all jobs.
  std::int64_t restarts() const;
};

/// Simulates a workload under an allocator. Deterministic if the allocator is.
///
/// In every interval jobs train, and then the allocator decides on submitted jobs that have not finished. Times and
/// gains of steps are those measured of the application. The model of a job is fitted to the steps that it ran itself,
/// or to those of all jobs of its application with `shares_profiles`. Progress is scale-invariant, and a job ends after
/// the epochs of its application. Errors: kInvalidArgument with the allocator's name for a decision that
/// check_allocations refuses; kFailedPrecondition for jobs that have not finished at `until`.
Result<ClusterResult> simulate(const Workload& workload, Allocator& allocator, const SimulationOptions& options = {});

}  // namespace lanista::goodput
