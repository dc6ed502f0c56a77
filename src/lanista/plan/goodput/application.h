#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "lanista/base/file_system.h"
#include "lanista/base/result.h"
#include "lanista/plan/goodput/scattered_table.h"

// Measurements of a training job on a real cluster: the times of its steps, and the progress of each step.
namespace lanista::cluster {

/// Statistics of a gradient.
struct GradientStats {
  double sqr = 0;  ///< Squared norm of the true gradient.
  double var = 0;  ///< Trace of its covariance at the initial batch size.
  bool operator==(const GradientStats&) const = default;
};

/// A complete training of an application at one batch size, with one entry for each epoch.
struct ValidationRun {
  std::int64_t batch = 0;                ///< Batch size in samples.
  std::vector<double> progress;          ///< Progress at the end of the epoch, in steps of the initial batch.
  std::vector<double> iterations;        ///< Steps until the end of the epoch.
  std::vector<GradientStats> gradients;  ///< Gradient statistics of the epoch.
};

/// The bounds of a job's batch sizes, in samples.
struct BatchLimits {
  std::int64_t initial = 1;    ///< Smallest and first batch size of all replicas, M0.
  std::int64_t most = 1;       ///< Largest batch size of all replicas.
  std::int64_t min_local = 1;  ///< Smallest batch size of a replica.
  std::int64_t max_local = 1;  ///< Largest batch size of a replica.
  bool operator==(const BatchLimits&) const = default;
};

/// A job of the traces of Pollux's artefact (OSDI'21). Not thread-safe, since it keeps times that it has computed.
class Application {
 public:
  /// `placed` has step times by placement and local batch; `scattered` those by nodes, replicas and local batch.
  Application(std::string name, std::vector<ValidationRun> runs,
              std::map<std::string, std::vector<std::pair<std::int64_t, StepTimes>>> placed, ScatteredTable scattered,
              BatchLimits limits);

  /// Returns the name of its folder.
  const std::string& name() const { return name_; }
  /// Returns the bounds of its batch sizes.
  const BatchLimits& limits() const { return limits_; }
  /// Sets times that replace interpolated ones.
  void set_exact_times(std::map<GridPoint, StepTimes> times) { exact_times_ = std::move(times); }
  /// Sets the largest batch size of a replica.
  void set_max_local_batch(std::int64_t most) { limits_.max_local = most; }

  /// Returns the number of epochs until it ends.
  std::int64_t epochs() const { return epochs_; }
  /// Returns the progress after this many epochs, in steps of the initial batch: the least of all batch sizes.
  double progress_after(std::int64_t epochs) const;
  /// Returns the steps of a batch size until the end of an epoch (from 0), interpolated between measured batch sizes.
  double iterations(std::int64_t batch, std::int64_t epoch) const;
  /// Returns the gradient statistics during an epoch, interpolated between measured batch sizes.
  GradientStats gradients(std::int64_t batch, std::int64_t epoch) const;
  /// Returns true if the batch size is between the smallest and the largest measured one.
  bool has_batch(std::int64_t batch) const { return batch >= runs_.front().batch && batch <= runs_.back().batch; }

  /// Returns the times of a step. `placement` has the replicas of each node.
  ///
  /// A measured placement, up to rotation, is interpolated between its batch sizes. Other placements are interpolated
  /// over nodes, replicas and batch size. Outside the measured range the nearest measured point counts.
  StepTimes step_times(std::span<const std::int32_t> placement, std::int64_t local_batch) const;

 private:
  StepTimes look_up(const std::string& placement, std::int32_t nodes, std::int32_t replicas, std::int64_t local) const;

  std::string name_;
  std::vector<ValidationRun> runs_;  ///< In ascending order of batch sizes.
  std::map<std::string, std::vector<std::pair<std::int64_t, StepTimes>>> placed_;
  ScatteredTable scattered_;
  std::map<GridPoint, StepTimes> exact_times_;
  BatchLimits limits_;
  std::int64_t epochs_ = 0;
  std::vector<double> least_progress_;
  mutable std::map<std::pair<std::string, std::int64_t>, StepTimes> known_;
};

/// Reads the traces of an application from `folder`/`name`.
///
/// - `placements.csv`: placement,local_bsz,step_time,sync_time; a placement has one digit for each node.
/// - `scalability.csv`: num_nodes,num_replicas,local_bsz,step_time,sync_time.
/// - `validation-BATCH.csv`: progress,iteration,metric,grad_sqr,grad_var, one row an epoch.
/// - `between.csv` (optional): columns of `scalability.csv`; its times replace interpolated ones.
///
/// Errors: kNotFound; kIo; kDataLoss with file, row, column and value.
Result<Application> read_application(FileSystem& fs, const std::string& folder, const std::string& name);

}  // namespace lanista::cluster
