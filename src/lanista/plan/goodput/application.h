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
namespace lanista::goodput {

/// Squared norm and variance of a job's gradient.
struct GradientStats {
  double sqr = 0;  ///< Squared norm of the expected gradient.
  double var = 0;  ///< Trace of the gradient's covariance at the initial batch size.
  bool operator==(const GradientStats&) const = default;
};

/// Measurements of a whole training of an application at one batch size. Each list has one entry for each epoch.
struct ValidationRun {
  std::int64_t batch = 0;                ///< Batch size in samples.
  std::vector<double> progress;          ///< Progress until the end of the epoch, in steps of the initial batch.
  std::vector<double> iterations;        ///< Steps from the start of the training to the end of the epoch.
  std::vector<GradientStats> gradients;  ///< Gradient statistics during the epoch.
};

/// The smallest and the largest batch sizes of a job, in samples.
struct BatchLimits {
  std::int64_t initial = 1;    ///< Smallest and first batch size of all replicas together, M0.
  std::int64_t most = 1;       ///< Largest batch size of all replicas together.
  std::int64_t min_local = 1;  ///< Smallest batch size of one replica in one pass.
  std::int64_t max_local = 1;  ///< Largest batch size of one replica in one pass.
  bool operator==(const BatchLimits&) const = default;
};

/// The measured step times and progress of a job of Pollux's artefact (OSDI'21).
///
/// Not thread-safe, since step_times keeps its results.
class Application {
 public:
  /// `runs` has one training for each batch size. `placed` has step times by placement and ascending local batch;
  /// `scattered` has those by nodes, replicas and local batch. A placement is its digits in the alphabetically first
  /// rotation.
  Application(std::string name, std::vector<ValidationRun> runs,
              std::map<std::string, std::vector<std::pair<std::int64_t, StepTimes>>> placed, ScatteredTable scattered,
              BatchLimits limits);

  /// Returns the name of the folder with its traces.
  const std::string& name() const { return name_; }
  /// Returns the smallest and largest batch sizes.
  const BatchLimits& limits() const { return limits_; }
  /// Sets step times that replace interpolated ones. Times of a measured placement still have priority. Call it before
  /// step_times.
  void set_exact_times(std::map<GridPoint, StepTimes> times) { exact_times_ = std::move(times); }
  /// Sets the largest batch size of a replica in one pass, in samples (BatchLimits::max_local). Call it before
  /// step_times.
  void set_max_local_batch(std::int64_t most) { limits_.max_local = most; }

  /// Returns the number of epochs of the whole training: that of the shortest run.
  std::int64_t epochs() const { return epochs_; }
  /// Returns the progress after this many epochs, in steps of the initial batch; 0 after none.
  ///
  /// It is the least of all measured batch sizes.
  double progress_after(std::int64_t epochs) const;
  /// Returns the steps of a batch size from the start of the training to the end of an epoch (from 0).
  ///
  /// Between measured batch sizes it is interpolated. A batch below the smallest measured one has the steps of the
  /// smallest. A batch above the largest measured one throws InternalError.
  double iterations(std::int64_t batch, std::int64_t epoch) const;
  /// Returns the gradient statistics during an epoch (from 0), interpolated between measured batch sizes. A batch below
  /// the smallest measured one has those of the smallest; one above the largest throws InternalError.
  GradientStats gradients(std::int64_t batch, std::int64_t epoch) const;
  /// Returns true if the batch size is between the smallest and the largest measured one.
  bool has_batch(std::int64_t batch) const { return batch >= runs_.front().batch && batch <= runs_.back().batch; }

  /// Returns the measured seconds of a step that synchronises its replicas, and of the synchronisation in it.
  ///
  /// `placement` has the number of replicas on each node; `local_batch` is the batch size of a replica. A measured
  /// placement, up to rotation, is interpolated between its batch sizes. Other placements are interpolated over nodes
  /// (more than 16 count as 16), replicas and batch size. Outside the measured range the nearest measured point counts.
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
/// - `placements.csv`: placement,local_bsz,step_time,sync_time; a placement has one digit for each node, its replicas.
/// - `scalability.csv`: num_nodes,num_replicas,local_bsz,step_time,sync_time.
/// - `validation-BATCH.csv`: progress,iteration,metric,grad_sqr,grad_var, one row an epoch.
/// - `between.csv` (optional): columns of `scalability.csv`; its times replace interpolated ones.
///
/// Errors: kNotFound for a missing file; kIo if a file cannot be read; kDataLoss with file, row, column and value for a
/// wrong cell.
Result<Application> read_application(FileSystem& fs, const std::string& folder, const std::string& name);

}  // namespace lanista::goodput
