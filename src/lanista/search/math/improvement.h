#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "lanista/search/math/gaussian_process.h"

namespace lanista::search {

/// Points of a space with their losses and their violations of constraints, all of one fidelity.
struct EvaluatedPoints {
  Points points;               ///< The points, without uncertainty.
  std::vector<double> losses;  ///< One loss per point; NaN if the trial failed.
  /// For each constraint one value per point: how far the value is above the bound. At most 0 means that the constraint
  /// is met, and NaN that the trial failed.
  std::vector<std::vector<double>> excesses;
  /// One flag per point; true: it was measured, false: estimated. An estimated point is no incumbent.
  std::vector<bool> measured;
  /// Variance of the loss of each point, 0 where it was measured. Empty if all were measured.
  std::vector<double> uncertainty;
  /// For each constraint the variance of the excess of each point. Empty if all were measured.
  std::vector<std::vector<double>> excess_uncertainty;

  /// True if the point with this index was measured, did not fail and meets all constraints.
  bool feasible(std::size_t point) const;
};

/// Values that were scaled to mean 0 and standard deviation 1, with the scale.
struct Standardised {
  std::vector<double> values;  ///< The scaled values.
  double zero = 0;             ///< The scaled value of 0.
  double scale = 1;  ///< Standard deviation of the original values. If they are equal, their magnitude, or 1 for 0.
};
/// Returns the values scaled to mean 0 and standard deviation 1, with the scale and the scaled value of 0, which
/// convert thresholds likewise.
///
/// A NaN counts as the highest finite value. Infinities count as the highest and the lowest one. Equal values become 0.
/// If no value is finite, all count as 1.
Standardised standardised(const std::vector<double>& raw);

/// Constrained expected improvement, an acquisition function (Gardner et al., ICML'14; Gelbart et al., UAI'14).
///
/// It is the expected improvement over the incumbent times the probability that the point meets all constraints. The
/// incumbent is the best loss that was measured at a feasible point. Without an incumbent it is the probability alone.
/// Each constraint has its own Gaussian process. A failed point counts as the worst measured one, in loss and excess.
///
/// Pending trials are taken into account. The improvement is averaged over fantasies of their losses (Snoek et al.,
/// NeurIPS'12). Their excesses are set to the expected ones (Ginsbourger et al., 2010). While no point is feasible,
/// that excess is at least 0, so that the next trial is proposed elsewhere.
class Improvement {
 public:
  /// The fitted kernels of the loss and of each constraint.
  struct Kernels {
    Kernel loss;
    std::vector<Kernel> excesses;  ///< One kernel per constraint.
  };
  /// Returns the kernels with the highest posterior for these points. O(n^3) for each step of the fit.
  static Kernels fit(const EvaluatedPoints& known);

  /// Builds a Gaussian process of each constraint, and one of the loss if a known point is feasible. Needs at least one
  /// known point. `pending` has the points of running trials. `fantasies` is how often their losses are sampled, at
  /// least 1; the samples are quasi-random and the same for equal arguments.
  Improvement(const EvaluatedPoints& known, const Kernels& kernels, const std::vector<std::vector<double>>& pending,
              std::int64_t fantasies);

  /// Returns the logarithm of the constrained expected improvement at `x`. It is finite, and larger is better.
  double score(const std::vector<double>& x) const;

 private:
  struct ConstraintModel {
    GaussianProcess process;
    double bound = 0;  ///< Standardised bound of the constraint.
  };
  double log_feasible(const std::vector<double>& x) const;

  std::vector<ConstraintModel> constraint_models_;
  std::optional<GaussianProcess> process_;  ///< Model of the loss. None while no point is feasible.
  std::vector<double> incumbents_;          ///< One loss per fantasy. Empty while no point is feasible.
};

}  // namespace lanista::search
