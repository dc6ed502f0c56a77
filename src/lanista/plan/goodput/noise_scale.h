#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "lanista/plan/goodput/application.h"

// How noisy gradients are, from norms that training has anyway (McCandlish et al. 2018; Pollux, section 3).
namespace lanista::cluster {

/// One step's norms of one parameter group: of n gradients over m examples each, and of their mean. All are to be
/// divided by the optimiser's preconditioner before (preconditioned_square).
struct GradientSquares {
  double mean_square = 0;  ///< mean of |g_i|^2
  double square_of_mean = 0;
};

/// Sum of (g / p)^2: what a gradient measures where an optimiser divides by p (Adam: root of the second moment, plus
/// eps). An empty p is ones.
double preconditioned_square(std::span<const double> gradient, std::span<const double> preconditioner);

/// Estimates, for every parameter group, |g|^2 and tr(Sigma)/M0 from steps of any batch. A step with a single gradient
/// is paired with the one before, which is biased: these averages are dropped when a step with several comes. Both
/// numbers are averaged on their own, by 0.999 to the power of M/M0, and corrected for the beginning.
class NoiseScale {
 public:
  explicit NoiseScale(std::size_t groups = 1) : averages_(groups), groups_(groups) {}

  /// `norms` of each group, of `samples` > 1 gradients of a step whose batch is `scale` times the initial one. False
  /// where a norm is not finite: nothing is taken of such a step. Unbiased whatever samples and scale are; mean_square
  /// may be of some of the gradients alone, and their number need not be whole. A step may stand for others that nobody
  /// measured: for so many of the initial batch, `represented_scale`, averages fade; 0: for itself, by its scale.
  bool add(std::span<const GradientSquares> norms, double samples, double scale, double represented_scale = 0);
  /// Of a step with one gradient: |g|^2 of each group now, and |(g + h)/2|^2 with h the one before; `before` is |h|^2.
  bool add_single(std::span<const double> now, std::span<const double> before, std::span<const double> square_of_mean,
                  double scale);

  std::int64_t steps() const { return steps_; }
  /// All that is known, to be kept and gone on from exactly: sums by group, their weight, the number of steps.
  struct State {
    std::vector<GradientStats> sums;
    double weight = 0;
    std::int64_t steps = 0;
    bool is_biased = false;
  };
  State state() const;
  void restore(const State& saved);

  /// sqr at least 0, var at least 1e-6. Zero and 1e-6 before the first step.
  GradientStats group(std::size_t i) const;
  GradientStats total() const;
  /// phi = M0 var / sqr over all groups; nothing until `least_steps` steps, for few say nothing.
  std::optional<double> noise_scale(std::int64_t initial_batch, std::int64_t least_steps = 20) const;

 private:
  bool accumulate(std::span<const GradientSquares> norms, double samples, double scale, double represented_scale);

  std::vector<GradientStats> averages_;
  std::size_t groups_ = 1;
  double weight_ = 0;  ///< of all that was averaged; 1 in the end
  std::int64_t steps_ = 0;
  bool is_biased_ = false;
};

}  // namespace lanista::cluster
