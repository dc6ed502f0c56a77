#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lanista/plan/goodput/application.h"

// The gradient noise scale, from norms that training computes (McCandlish et al. 2018; Pollux, section 3).
namespace lanista::goodput {

/// Squared norms of one parameter group in one step with n gradients over m samples each.
///
/// The caller divides all gradients by the preconditioner of the optimiser first. For Adam, that is the root of the
/// second moment plus eps.
struct GradientSquares {
  double mean_square = 0;     ///< Mean over the n gradients of their squared norms.
  double square_of_mean = 0;  ///< Squared norm of the mean of the n gradients.
};

/// Estimates |g|^2 and tr(Sigma)/M0 of each parameter group from steps of any batch size.
///
/// The true gradient is g. Sigma is the covariance of the gradients of single samples. A step has M samples, and the
/// initial batch has M0. Not thread-safe.
///
/// Each estimate is an exponential average with the decay 0.999^r, corrected for its start at zero. r is M/M0, or the
/// `represented_scale` of add().
class NoiseScale {
 public:
  /// Estimates for this number of parameter groups.
  explicit NoiseScale(std::size_t groups = 1) : averages_(groups) {}

  /// Adds a step with `samples` > 1 gradients and a batch of `scale` times the initial batch. Returns false if a norm
  /// is not finite; the step is then ignored.
  ///
  /// `norms` has one entry for each group. The estimate is unbiased for all values of samples and scale. `mean_square`
  /// may be the mean over some of the gradients only, and `samples` need not be whole. A step may stand for steps that
  /// were not measured: averages then decay by `represented_scale` initial batches; 0 means `scale`. Arguments out of
  /// range throw InternalError.
  bool add(std::span<const GradientSquares> norms, double samples, double scale, double represented_scale = 0);

  /// Returns the number of steps in the present estimate.
  std::int64_t steps() const { return steps_; }
  /// Everything that the estimate consists of, for a checkpoint.
  struct State {
    std::vector<GradientStats> sums;  ///< Weighted sums of the estimates of each group.
    double weight = 0;                ///< Sum of the weights.
    std::int64_t steps = 0;           ///< Number of steps.
  };
  /// Returns a copy of the state.
  State state() const;
  /// Replaces the state and the number of groups.
  void restore(const State& saved);

  /// Returns the estimate of group `i` (from 0): sqr is at least 0, var at least 1e-6. Without steps it is 0 and 1e-6.
  GradientStats group(std::size_t i) const;
  /// Returns the sums of sqr and of var over all groups.
  GradientStats total() const;

 private:
  std::vector<GradientStats> averages_;
  double weight_ = 0;  ///< Sum of the weights; it tends to 1.
  std::int64_t steps_ = 0;
};

}  // namespace lanista::goodput
