#include "lanista/search/math/truncated_normal.h"

#include <algorithm>

#include "lanista/base/rng.h"

namespace lanista::search {

double normal_mass(double lo, double hi) {
  if (lo > 0) return portable_normal_cdf(-lo) - portable_normal_cdf(-hi);
  return portable_normal_cdf(hi) - portable_normal_cdf(lo);
}

double TruncatedNormal::quantile(double u) const {
  const double lo = portable_normal_cdf(-mean / deviation), hi = portable_normal_cdf((1 - mean) / deviation);
  const double p = std::clamp(lo + (hi - lo) * u, 1e-300, 1 - 0x1p-53);
  return std::clamp(mean + deviation * normal_quantile(p), 0.0, 1.0);
}

}  // namespace lanista::search
