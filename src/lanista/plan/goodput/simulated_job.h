#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "lanista/plan/goodput/simulate.h"

namespace lanista::cluster {

/// What was measured of steps, and the model fitted to it; of one job, or of all of an application.
class JobProfile {
 public:
  void add(const StepSample& sample);
  std::int32_t most_replicas() const { return most_replicas_; }
  bool empty() const { return samples_.empty(); }
  bool has_measured(std::int64_t nodes, std::int64_t replicas, std::int64_t local) const {
    return seen_.contains({nodes, replicas, local});
  }
  /// Fitted when something was added since.
  const ThroughputModel& model();
  std::int64_t version() const { return static_cast<std::int64_t>(samples_.size()); }
  std::int64_t fits() const { return fits_; }

  std::map<std::int64_t, GradientStats> gradients;  ///< by epoch, the newest

 private:
  std::vector<StepSample> samples_;
  std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t>> seen_;
  std::int32_t most_replicas_ = 0;
  ThroughputModel model_;
  std::size_t fitted_ = 0;
  std::int64_t fits_ = 0;
};

/// A job of the simulated cluster.
class SimulatedJob {
 public:
  SimulatedJob(std::size_t index, const Submission& submission, const Application& application,
               std::shared_ptr<JobProfile> profile, const SimulationOptions& options);

  void advance(double seconds, double interference);
  void reallocate(const Allocation& allocation);
  bool finished() const { return ended_.has_value(); }
  JobView view(double now);
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
  std::int32_t restarts_ = -1;  ///< -1: it never had devices
  std::vector<std::int32_t> placement_;
  std::int32_t replicas_ = 0;
  BatchPlan plan_;
  std::optional<GradientStats> gradients_;

  std::unique_ptr<GoodputTable> table_;
  std::int64_t table_version_ = -1;
  GradientStats table_gradients_;
  std::unique_ptr<TrueCosts> true_costs_;
};

}  // namespace lanista::cluster
