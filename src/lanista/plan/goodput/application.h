#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "lanista/base/file_system.h"
#include "lanista/base/result.h"
#include "lanista/plan/goodput/scattered_table.h"

// What was measured of a training job on a real cluster: how long its steps take, how much each of them helps.
namespace lanista::cluster {

/// What a gradient estimate says: |g|^2 of the true gradient, and the trace of its covariance at the initial batch.
struct GradientStats {
  double sqr = 0, var = 0;
  bool operator==(const GradientStats&) const = default;
};

/// A batch size at which an application was trained to the end; a row an epoch.
struct ValidationRun {
  std::int64_t batch = 0;
  std::vector<double> progress;  ///< behind the epoch, in steps of the initial batch
  std::vector<double> iterations;
  std::vector<GradientStats> gradients;
};

/// The bounds of a job's batches.
struct BatchLimits {
  std::int64_t initial = 1;  ///< M0: nothing smaller
  std::int64_t most = 1;     ///< of all replicas together
  std::int64_t min_local = 1, max_local = 1;
  bool operator==(const BatchLimits&) const = default;
};

/// A job of the traces of Pollux's artefact (OSDI'21). Times are cached, so one is for one thread.
class Application {
 public:
  Application(std::string name, std::vector<ValidationRun> runs,
              std::map<std::string, std::vector<std::pair<std::int64_t, StepTimes>>> placed, ScatteredTable scattered,
              BatchLimits limits);

  const std::string& name() const { return name_; }
  const BatchLimits& limits() const { return limits_; }
  /// Times to be taken in place of interpolated ones.
  void set_exact_times(std::map<GridPoint, StepTimes> times) { exact_times_ = std::move(times); }
  void set_max_local_batch(std::int64_t most) { limits_.max_local = most; }

  std::int64_t epochs() const { return epochs_; }
  /// At the end of so many epochs: the least that any batch size had made.
  double progress_after(std::int64_t epochs) const;
  /// Steps of a batch size up to the end of an epoch (0: the first), between the two nearest batch sizes.
  double iterations(std::int64_t batch, std::int64_t epoch) const;
  /// During an epoch, between the two nearest batch sizes.
  GradientStats gradients(std::int64_t batch, std::int64_t epoch) const;
  bool has_batch(std::int64_t batch) const { return batch >= runs_.front().batch && batch <= runs_.back().batch; }

  /// Of replicas per node, in the order of the nodes, with a local batch. A placement that was measured, whichever node
  /// is named first, is read between its batches, others between all (nodes, replicas, batch); beyond what was measured
  /// the nearest that was.
  StepTimes step_times(std::span<const std::int32_t> placement, std::int64_t local_batch) const;

 private:
  StepTimes look_up(const std::string& placement, std::int32_t nodes, std::int32_t replicas, std::int64_t local) const;

  std::string name_;
  std::vector<ValidationRun> runs_;  ///< by batch
  std::map<std::string, std::vector<std::pair<std::int64_t, StepTimes>>> placed_;
  ScatteredTable scattered_;
  std::map<GridPoint, StepTimes> exact_times_;
  BatchLimits limits_;
  std::int64_t epochs_ = 0;
  std::vector<double> least_progress_;
  mutable std::map<std::pair<std::string, std::int64_t>, StepTimes> known_;
};

/// Reads `folder`/NAME: placements.csv (placement,local_bsz,step_time,sync_time; a placement has a digit a node),
/// scalability.csv (num_nodes,num_replicas,local_bsz,step_time,sync_time), validation-BATCH.csv
/// (progress,iteration,metric,grad_sqr,grad_var; a row an epoch). If there is a between.csv, with the columns of
/// scalability.csv, its times are taken in place of interpolated ones. Errors: kNotFound, kIo; kDataLoss naming file,
/// row, column and what stands there.
Result<Application> read_application(FileSystem& fs, const std::string& folder, const std::string& name);

}  // namespace lanista::cluster
