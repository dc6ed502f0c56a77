#pragma once

namespace lanista {

/// Elementary functions with the same bits on every machine (no libm: its variants differ with the
/// CPU). Accurate to about 1e-15 relative; used wherever a number reaches a trial (schedules,
/// samplers, initialisation).
double portable_log(double x);
double portable_exp(double x);
double portable_cos(double x);                      ///< |x| <= 1e5
double portable_pow(double base, double exponent);  ///< base > 0
double portable_erfc(double x);                     ///< 1 - erf(x), relative error about 1e-13
double portable_normal_cdf(double x);               ///< of the standard normal; accurate in both tails

}  // namespace lanista
