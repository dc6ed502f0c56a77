#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lanista/base/rng.h"
#include "lanista/plan/elastic/simulate.h"

namespace lanista::bench {

/// A tuning algorithm on random configurations, as a source of trials for a simulated schedule.
///
/// The learning curve of a configuration and its time a unit of budget are functions of seed and number. The trial of a
/// rung trains only the units that the rung adds.
class TuningJob : public plan::TrialSource {
 public:
  /// Lower bounds on the makespan of all trials so far, in seconds. With barriers it is the sum over rungs. Otherwise
  /// it is the larger of the area bound and the longest chain of dependent trials.
  struct Limit {
    double dual = 0;     ///< From Bounds::dual.
    double elastic = 0;  ///< From Bounds::elastic.
  };
  /// The lower bounds on `cluster`.
  virtual Limit limit(const plan::Cluster& cluster) const = 0;
  /// Number of trials so far.
  virtual std::int64_t trials() const = 0;
};

/// The distribution of random configurations. Seconds of a unit of budget are lognormal with the median 1.
struct Workload {
  double sigma = 0.9;                             ///< Standard deviation of the logarithm of seconds.
  double least_busy = 0.3, most_busy = 0.8;       ///< Range of the part of a worker that a trial uses.
  double least_serial = 0.05, most_serial = 0.2;  ///< Range of s; the speed at w workers is w / (1 + s (w - 1)).
  double resize = 0.2;                            ///< Seconds of a change of width.
  double error = 0;                               ///< Largest relative error of predicted steps.
};

/// Returns the least seconds of a job without barriers: all work spread evenly, or the longest chain.
///
/// `parts` are all pieces of work. `chains` are the pieces of one trial in sequence, each as seconds at its fastest
/// width.
double asynchronous_bound(std::span<const plan::Prediction> parts, std::span<const double> chains,
                          const plan::Cluster& cluster);

/// Makes the job of a tuning algorithm with R = 81 units and eta = 3, or null for an unknown name.
///
/// - syncbohb: the brackets of HpBandSter, floor((s_max+1)/(s+1)) eta^s trials, one after the other
/// - bohb: the same brackets; the next one begins when fewer than 16 trials are open
/// - hyperband: the brackets of the paper (rounded up), all at the same time
/// - asha: promotions; 81 configurations, of which up to 16 are open
std::unique_ptr<TuningJob> make_tuning_job(const std::string& algorithm, std::uint64_t seed, const Workload& workload);

/// The names of the algorithms.
std::vector<std::string> tuning_jobs();

}  // namespace lanista::bench
