#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "lanista/search/math/gaussian_process.h"

namespace lanista::strategy {

/// What is known of some points of a space, all of it of one fidelity.
struct EvaluatedPoints {
  Points points;               ///< without uncertainty
  std::vector<double> losses;  ///< of each point; NaN: it failed
  /// For each constraint, of each point: how much there is too much, at most 0 where it keeps to it. NaN: failed.
  std::vector<std::vector<double>> excesses;
  std::vector<bool> measured;  ///< or else estimated, and no incumbent
  /// Variances of the losses and of the excesses that are estimated, 0 where they are measured; empty: all are.
  std::vector<double> uncertainty;
  std::vector<std::vector<double>> excess_uncertainty;

  bool feasible(std::size_t point) const;  ///< measured, did not fail and keeps to all constraints
};

/// Values of any scale with mean 0 and deviation 1. A NaN is the highest of the others, infinities are the highest and
/// lowest finite ones; equal values become 0.
struct Standardised {
  std::vector<double> values;
  double zero = 0;   ///< what 0 became
  double scale = 1;  ///< deviation of the original values
};
Standardised standardised(const std::vector<double>& raw);

/// Constrained expected improvement (Gardner et al., ICML'14; Gelbart et al., UAI'14): how much better than the
/// incumbent a point is expected to be, times the probability that it keeps to the constraints, each of which has a
/// Gaussian process of its own. The incumbent is the best loss that was measured at a point that keeps to them. While
/// there is none, what counts is the probability alone. A point that failed counts as the worst that was measured, in
/// loss and in excess.
///
/// Points whose trials are under way are conditioned on: the improvement is averaged over fantasies of what they will
/// give (Snoek et al., NeurIPS'12), and their excess is taken to be what is expected (Ginsbourger et al., 2010). While
/// nothing is feasible it is at least 0, so that the next trial looks elsewhere.
class Improvement {
 public:
  struct Kernels {
    Kernel loss;
    std::vector<Kernel> excesses;
  };
  static Kernels fit(const EvaluatedPoints& known);

  /// Needs at least one known point. `fantasies` at least 1.
  Improvement(const EvaluatedPoints& known, const Kernels& kernels, const std::vector<std::vector<double>>& pending,
              std::int64_t fantasies);

  double score(const std::vector<double>& x) const;  ///< the logarithm of it; finite

 private:
  struct ConstraintModel {
    GaussianProcess process;
    double most = 0;  ///< the bound, as standardised
  };
  double log_feasible(const std::vector<double>& x) const;

  std::vector<ConstraintModel> constraint_models_;
  std::optional<GaussianProcess> process_;
  std::vector<double> incumbents_;  ///< of each fantasy; empty: nothing is feasible, and there is no process
};

}  // namespace lanista::strategy
