#pragma once

#include <cstdint>
#include <vector>

#include "lanista/base/rng.h"
#include "lanista/model/space/unit_interval.h"

namespace lanista::search {

/// A value of a domain as a coordinate.
struct AxisValue {
  double at = 0;                  ///< Position of a number in the unit interval, or index of a choice.
  space::UnitInterval cell = {};  ///< Part of the unit interval that gives the number; lo == hi if it is one point.
};
/// Returns the coordinate of `value`, which must be in `domain`. For a choice it is the index. For a number it is the
/// position in the unit interval on the scale of its domain, with the part of the interval that gives the number.
AxisValue axis_value_of(const space::Domain& domain, const space::Value& value);

/// A Parzen estimator: a density over the values of several domains together.
///
/// It is a mixture of products of kernels. One component is centred at each observation, and a prior component covers
/// the whole space. Numbers have truncated normals in the unit interval. Choices have smoothed indicators.
/// Source: Bergstra et al., NeurIPS'11 and ICML'13; constants as in Optuna 5 (multivariate).
class Parzen {
 public:
  /// Builds the estimator. `rows` has the observations from the oldest to the newest, one coordinate per domain. Older
  /// ones weigh less (observation_weights). It may be empty: then only the prior is left.
  Parzen(std::vector<space::Domain> domains, const std::vector<std::vector<AxisValue>>& rows);

  /// Returns one sample of the density, one value per domain.
  std::vector<space::Value> sample(const Rng& rng) const;
  /// Returns the logarithm of the density at a point with one coordinate per domain. It is finite.
  /// O(observations x domains).
  double log_density(const std::vector<AxisValue>& at) const;

 private:
  struct Kernel {
    double mean = 0, deviation = 1;
    double log_mass = 0;  ///< Logarithm of the normal's mass between 0 and 1.
  };
  struct Axis {
    space::Domain domain;
    std::vector<Kernel> kernels;      ///< Of a number: one per observation, then the prior.
    std::vector<std::size_t> values;  ///< Of a choice: the value of each observation.
    double hit = 0;                   ///< Of a choice: probability of the observation's own value.
    double miss = 0;                  ///< Of a choice: probability of each other value.
    double prior = 0;                 ///< Of a choice: probability of each value by the prior.
    double log_hit = 0, log_miss = 0, log_prior = 0;
  };
  static Axis make_axis(space::Domain domain, const std::vector<std::vector<AxisValue>>& rows, std::size_t column);
  double choice_density(const std::vector<AxisValue>& at) const;
  static double log_kernel(const Axis& axis, std::size_t k, const AxisValue& at);

  std::vector<double> weights_;      ///< Weights of the components, which sum to 1. The prior's is the last.
  std::vector<double> log_weights_;  ///< Their logarithms. Empty if all axes are choices.
  bool only_choices_ = true;
  std::vector<Axis> axes_;
};

/// Returns the weights of n observations from the oldest to the newest. The newest 25 have weight 1. The weights of the
/// others rise linearly from 1 / n to 1.
std::vector<double> observation_weights(std::size_t n);

}  // namespace lanista::search
