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

/// A tuning algorithm on made-up configurations, as the groups of trials that it asks for. Configurations have a
/// learning curve and a time a unit of budget, both functions of (seed, number); rungs pay for what they add to a
/// budget.
class TuningJob : public schedule::TrialSource {
 public:
  /// No schedule of the work that was asked for ends sooner: rung by rung where there are barriers, else the larger of
  /// all work and the longest chain of what has to wait for each other.
  struct Limit {
    double dual = 0;     ///< by Bounds::dual
    double elastic = 0;  ///< by Bounds::elastic
  };
  virtual Limit limit(const schedule::Cluster& cluster) const = 0;
  virtual std::int64_t trials() const = 0;  ///< that have been asked for
};

/// How configurations are drawn: seconds of a unit of budget are lognormal around 1.
struct Workload {
  double sigma = 0.9;  ///< of the logarithm of seconds
  double least_busy = 0.3, most_busy = 0.8;
  double least_serial = 0.05, most_serial = 0.2;  ///< w / (1 + serial (w - 1)) is the speed at w workers
  double resize = 0.2;                            ///< seconds that a change of workers takes
  double error = 0;                               ///< predictions are off by at most this part
};

/// Returns the least seconds of a job without barriers: all work spread evenly, or the longest chain.
///
/// `parts` are all pieces of work. `chains` are the pieces of one trial in sequence, each as seconds at its fastest width.
double asynchronous_bound(std::span<const schedule::Prediction> parts, std::span<const double> chains,
                          const schedule::Cluster& cluster);

/// "syncbohb", "bohb", "hyperband", "asha": R = 81 units, eta = 3. The first three have HpBandSter's brackets
/// (floor((s_max+1)/(s+1)) eta^s), hyperband those of the ICLR text (rounded up) and all at once; asha promotes, begins
/// 81 configurations and has 16 under way. Null for another name.
std::unique_ptr<TuningJob> make_tuning_job(const std::string& algorithm, std::uint64_t seed, const Workload& workload);
std::vector<std::string> tuning_jobs();

}  // namespace lanista::bench
