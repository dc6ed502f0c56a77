#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "lanista/plan/goodput/simulate.h"

namespace lanista::goodput {

/// Measured steps and gradients of one job, or of all jobs of an application, with the model that is fitted to them.
///
/// Not thread-safe.
class JobProfile {
 public:
  /// Adds a measured step. Only the first sample of each configuration (nodes, replicas, local batch) counts.
  void add(const StepSample& sample);
  /// Returns the largest number of replicas that was measured; 0 if nothing was.
  std::int32_t most_replicas() const { return most_replicas_; }
  /// Returns true if no step was measured.
  bool empty() const { return samples_.empty(); }
  /// Returns true if a step with these nodes, replicas and local batch was measured.
  bool has_measured(std::int64_t nodes, std::int64_t replicas, std::int64_t local) const {
    return seen_.contains({nodes, replicas, local});
  }
  /// Returns the fitted model. It is fitted again if a step was added since the last call, and has default parameters
  /// without steps. The reference is valid as long as the profile.
  const ThroughputModel& model();
  /// Returns the number of different configurations that were measured. It serves as a version of the profile.
  std::int64_t version() const { return static_cast<std::int64_t>(samples_.size()); }
  /// Returns the number of fits.
  std::int64_t fits() const { return fits_; }

  std::map<std::int64_t, GradientStats> gradients;  ///< Newest statistics of each epoch, by its number from 0.

 private:
  std::vector<StepSample> samples_;
  std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t>> seen_;
  std::int32_t most_replicas_ = 0;
  ThroughputModel model_;
  std::size_t fitted_ = 0;
  std::int64_t fits_ = 0;
};

/// A job of the simulated cluster: its devices, its progress and its clock. Not thread-safe.
class SimulatedJob {
 public:
  /// `index` is its index in Workload::jobs. `profile` may be shared by jobs of one application. The objects behind
  /// references must live as long as the job.
  SimulatedJob(std::size_t index, const Submission& submission, const Application& application,
               std::shared_ptr<JobProfile> profile, const SimulationOptions& options);

  /// Lets `seconds` seconds pass, in which the job trains if it has devices. `interference` is the lost part of its
  /// speed, from 0 to 1.
  void advance(double seconds, double interference);
  /// Replaces its devices; empty: it waits. With new devices it first spends SimulationOptions::restart_seconds without
  /// training.
  void reallocate(const Allocation& allocation);
  /// Returns true if its last epoch has ended.
  bool finished() const { return ended_.has_value(); }
  /// Returns the job as an allocator sees it at second `now`. The view has pointers into this job, which are valid
  /// until the job changes.
  JobView view(double now);
  /// Returns its result so far. Times of events that did not happen are 0.
  JobOutcome finish() const;

 private:
  void tune();
  void record_step(const StepTimes& times, const GradientStats& gradients);
  const GoodputTable* table();
  double target(std::int64_t epochs) const { return application_.progress_after(epochs) * submission_.length; }
  bool is_pinned() const;
  std::int32_t most_replicas() const;
  double estimated_left() const;

  std::size_t index_;
  const Submission& submission_;
  const Application& application_;
  std::shared_ptr<JobProfile> profile_;
  const SimulationOptions& options_;
  std::optional<std::int64_t> fixed_batch_;

  double now_ = 0, stalled_ = 0, progress_ = 0, service_ = 0;
  std::int64_t epoch_ = 0;
  std::optional<double> began_, ended_;
  std::int32_t restarts_ = -1;  ///< -1: it has had no devices.
  std::vector<std::int32_t> placement_;
  std::int32_t replicas_ = 0;
  BatchPlan plan_;
  std::optional<GradientStats> gradients_;

  std::unique_ptr<GoodputTable> table_;
  std::int64_t table_version_ = -1;
  GradientStats table_gradients_;
  std::unique_ptr<TrueCosts> true_costs_;
};

}  // namespace lanista::goodput
