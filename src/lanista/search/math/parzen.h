#pragma once

#include <cstdint>
#include <vector>

#include "lanista/base/rng.h"
#include "lanista/model/space/unit_interval.h"

namespace lanista::strategy {

/// Where a value lies on its axis: a number's place in the unit interval and the part that stands for it (lo == hi: a
/// point of a continuous domain), or a choice's index in `at`.
struct AxisValue {
  double at = 0;
  space::UnitInterval cell = {};
};
AxisValue axis_value_of(const space::Domain& domain, const space::Value& value);

/// A density over the values of some domains together: a mixture of products, one kernel around each observation and a
/// prior kernel over everything. Truncated normals in the unit interval for numbers, smoothed indicators for choices.
/// Source: Bergstra et al., NeurIPS'11 and ICML'13; constants as in Optuna 5 (multivariate).
class Parzen {
 public:
  /// `rows`: observations from the oldest to the newest, a place for each domain.
  Parzen(std::vector<space::Domain> domains, const std::vector<std::vector<AxisValue>>& rows);

  std::vector<space::Value> sample(const Rng& rng) const;
  double log_density(const std::vector<AxisValue>& at) const;

 private:
  struct Kernel {
    double mean = 0, deviation = 1;
    double log_mass = 0;  ///< of the normal between 0 and 1
  };
  struct Axis {
    space::Domain domain;
    std::vector<Kernel> kernels;      ///< numbers; the prior comes last
    std::vector<std::size_t> values;  ///< choices: what each kernel but the prior stands on
    double hit = 0, miss = 0;         ///< choices: a kernel's probability of its own value, of each other one
    double prior = 0;                 ///< choices: the prior kernel's, of each
    double log_hit = 0, log_miss = 0, log_prior = 0;
  };
  static Axis make_axis(space::Domain domain, const std::vector<std::vector<AxisValue>>& rows, std::size_t column);
  double choice_density(const std::vector<AxisValue>& at) const;
  static double log_kernel(const Axis& axis, std::size_t k, const AxisValue& at);

  std::vector<double> weights_;      ///< sum 1; the prior's comes last
  std::vector<double> log_weights_;  ///< empty where all axes are choices
  bool only_choices_ = true;
  std::vector<Axis> axes_;
};

/// Weights of n observations from the oldest to the newest: 1 each up to 25, else 1/n … 1 for all but the newest 25.
std::vector<double> observation_weights(std::size_t n);

}  // namespace lanista::strategy
