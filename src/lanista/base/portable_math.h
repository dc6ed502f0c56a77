#pragma once

namespace lanista {

// Elementary functions with the same bits on every machine. libm is not used, since its results depend on the CPU. The
// relative error is about 1e-15. Every number that reaches a trial uses them (schedules, samplers, initialisation).

/// Natural logarithm of x; NaN below zero, minus infinity at zero.
double portable_log(double x);
/// e to the power x.
double portable_exp(double x);
double portable_cos(double x);                      ///< cosine; |x| above 1e5 or NaN is a bug
double portable_pow(double base, double exponent);  ///< power; a base that is not above 0 is a bug
double portable_erfc(double x);                     ///< 1 - erf(x), relative error about 1e-13
double portable_normal_cdf(double x);               ///< standard normal distribution function, accurate in both tails

}  // namespace lanista
