#pragma once

#include <cstdint>
#include <span>

namespace lanista::search {

/// Returns the probability that a learning curve ends below `target` after `epochs`, from its first losses.
///
/// `losses` has one finite loss per epoch, from the first one on. Needs 3 <= losses.size() < epochs. A constant curve
/// gives 1 if its loss is below `target`, else 0. The result does not change if losses and target are scaled and
/// shifted together. It has the same bits on every machine. O(losses).
///
/// Source: the parametric curves of Domhan et al. (IJCAI'15), c + a f(t) with f a power or an exponential. Here the
/// shapes of f come from a grid, and no Markov chain is needed. The other parameters are integrated in closed form, by
/// Bayesian linear regression with a weak normal-inverse-gamma prior. That gives a mixture of Student's t, weighted by
/// evidence. The noise is assumed to have one size at all epochs.
double probability_below(std::span<const double> losses, std::int64_t epochs, double target);

/// Returns the cumulative distribution of Student's t for at least 3 degrees of freedom.
///
/// The error is about 0.002 (Wallace, 1959).
double student_cdf(double t, double degrees);

}  // namespace lanista::search
