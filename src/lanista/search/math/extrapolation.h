#pragma once

#include <cstdint>
#include <span>

namespace lanista::strategy {

/// The chance that a learning curve, of which the losses of the first epochs are known, is below `target` at the end of
/// `epochs`. Parametric families of curves as of Domhan et al. (IJCAI'15): c + a f(t) with f a power or an exponential.
/// Their shapes are taken from a grid, and everything else is integrated out in closed form (Bayesian linear regression
/// with a weak normal-inverse-gamma prior) in place of Markov chains: a mixture of Student's t, weighted by evidence.
/// Of the noise no more is assumed than that it is of one size. Scaling and shifting losses and target changes nothing.
///
/// Needs at least three losses, all finite, and 1 <= losses < epochs. O(losses). The same bits on every machine.
double probability_below(std::span<const double> losses, std::int64_t epochs, double target);

/// Student's t distribution with at least 3 degrees of freedom, to about 0.002 (Wallace, 1959).
double student_cdf(double t, double degrees);

}  // namespace lanista::strategy
