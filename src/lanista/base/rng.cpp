#include "lanista/base/rng.h"

#include <cmath>
#include <limits>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "lanista/base/check.h"
#include "lanista/base/digest.h"
#include "lanista/base/portable_math.h"

namespace lanista {
namespace {

__extension__ using Wide = unsigned __int128;

// Children have separate key spaces, so that no child's key is equal to a number of its parent.
constexpr std::uint64_t kLabelDomain = 0x9E3779B97F4A7C15ULL;
constexpr std::uint64_t kIndexDomain = 0xD1B54A32D192ED03ULL;

std::uint64_t low_half(const std::array<std::uint32_t, 4>& words) {
  return static_cast<std::uint64_t>(words[1]) << 32 | words[0];
}

// Coefficients from the constant term upwards.
template <std::size_t N>
double polynomial(const double (&coefficients)[N], double x) {
  double sum = coefficients[N - 1];
  for (std::size_t i = N - 1; i-- > 0;) sum = sum * x + coefficients[i];
  return sum;
}

}  // namespace

std::array<std::uint32_t, 4> philox(std::uint64_t key, std::uint64_t counter_hi, std::uint64_t counter_lo) {
  auto k0 = static_cast<std::uint32_t>(key);
  auto k1 = static_cast<std::uint32_t>(key >> 32);
  std::array<std::uint32_t, 4> c{static_cast<std::uint32_t>(counter_lo), static_cast<std::uint32_t>(counter_lo >> 32),
                                 static_cast<std::uint32_t>(counter_hi), static_cast<std::uint32_t>(counter_hi >> 32)};
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53} * c[0];
    const std::uint64_t p1 = std::uint64_t{0xCD9E8D57} * c[2];
    c = {static_cast<std::uint32_t>(p1 >> 32) ^ c[1] ^ k0, static_cast<std::uint32_t>(p1),
         static_cast<std::uint32_t>(p0 >> 32) ^ c[3] ^ k1, static_cast<std::uint32_t>(p0)};
    k0 += 0x9E3779B9U;
    k1 += 0xBB67AE85U;
  }
  return c;
}

Rng::Rng(std::uint64_t seed) : key_(seed) {}

Rng Rng::split(std::string_view label) const {
  const Digest d = hash_text(label);
  return Rng(low_half(philox(key_ ^ kLabelDomain, d.hi, d.lo)));
}

Rng Rng::split(std::uint64_t index) const { return Rng(low_half(philox(key_ ^ kIndexDomain, 1, index))); }

std::uint64_t Rng::next() { return low_half(philox(key_, 0, counter_++)); }

double Rng::uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

double Rng::uniform(double lo, double hi) {
  LANISTA_CHECK(lo <= hi, "uniform: lo above hi");
  const double u = uniform();
  const double x = lo * (1 - u) + hi * u;  // not lo + (hi - lo) * u: the difference may overflow
  if (x < lo) return lo;
  // Rounding may reach the open end. nextafter is exact, so that the bits stay equal everywhere.
  return x < hi || lo == hi ? x : std::nextafter(hi, lo);
}

std::uint64_t Rng::below(std::uint64_t n) {
  LANISTA_CHECK(n > 0, "below: n must be above zero");
  // Lemire's method: the high half of a product is uniform once the few biased low halves are sampled again.
  Wide product = static_cast<Wide>(next()) * n;
  if (static_cast<std::uint64_t>(product) < n) {
    const std::uint64_t biased = (0 - n) % n;
    while (static_cast<std::uint64_t>(product) < biased) product = static_cast<Wide>(next()) * n;
  }
  return static_cast<std::uint64_t>(product >> 64);
}

std::int64_t Rng::between(std::int64_t lo, std::int64_t hi) {
  LANISTA_CHECK(lo <= hi, "between: lo above hi");
  const std::uint64_t count = static_cast<std::uint64_t>(hi) - static_cast<std::uint64_t>(lo) + 1;
  const std::uint64_t offset = count == 0 ? next() : below(count);
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(lo) + offset);
}

double Rng::normal() {
  // The middle of one of 2^52 cells: exact, and never 0 or 1.
  return normal_quantile((static_cast<double>(next() >> 12) + 0.5) * 0x1p-52);
}

bool Rng::bernoulli(double p) { return uniform() < p; }

std::vector<std::uint32_t> Rng::permutation(std::uint32_t n) {
  std::vector<std::uint32_t> order(n);
  std::iota(order.begin(), order.end(), 0U);
  for (std::uint32_t i = 0; i + 1 < n; ++i) std::swap(order[i], order[i + below(n - i)]);
  return order;
}

std::vector<std::uint32_t> Rng::sample_without_replacement(std::uint32_t n, std::uint32_t k) {
  LANISTA_CHECK(k <= n, "sample_without_replacement: k above n");
  // The first k steps of a permutation of 0..n-1, with only the moved positions stored.
  std::unordered_map<std::uint32_t, std::uint32_t> moved;
  const auto at = [&](std::uint32_t place) {
    const auto found = moved.find(place);
    return found == moved.end() ? place : found->second;
  };
  std::vector<std::uint32_t> sample(k);
  for (std::uint32_t i = 0; i < k; ++i) {
    const auto other = static_cast<std::uint32_t>(i + below(n - i));
    sample[i] = at(other);
    moved[other] = at(i);
  }
  return sample;
}

// Wichura, "Algorithm AS 241: the percentage points of the normal distribution", Applied Statistics 37 (1988), PPND16.
double normal_quantile(double p) {
  static constexpr double kA[] = {3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3,
                                  1.3731693765509461125e4, 4.5921953931549871457e4, 6.7265770927008700853e4,
                                  3.3430575583588128105e4, 2.5090809287301226727e3};
  static constexpr double kB[] = {1.0,
                                  4.2313330701600911252e1,
                                  6.8718700749205790830e2,
                                  5.3941960214247511077e3,
                                  2.1213794301586595867e4,
                                  3.9307895800092710610e4,
                                  2.8729085735721942674e4,
                                  5.2264952788528545610e3};
  static constexpr double kC[] = {1.42343711074968357734e0,  4.63033784615654529590e0, 5.76949722146069140550e0,
                                  3.64784832476320460504e0,  1.27045825245236838258e0, 2.41780725177450611770e-1,
                                  2.27238449892691845833e-2, 7.74545014278341407640e-4};
  static constexpr double kD[] = {1.0,
                                  2.05319162663775882187e0,
                                  1.67638483018380384940e0,
                                  6.89767334985100004550e-1,
                                  1.48103976427480074590e-1,
                                  1.51986665636164571966e-2,
                                  5.47593808499534494600e-4,
                                  1.05075007164441684324e-9};
  static constexpr double kE[] = {6.65790464350110377720e0,  5.46378491116411436990e0,  1.78482653991729133580e0,
                                  2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
                                  2.71155556874348757815e-5, 2.01033439929228813265e-7};
  static constexpr double kF[] = {1.0,
                                  5.99832206555887937690e-1,
                                  1.36929880922735805310e-1,
                                  1.48753612908506148525e-2,
                                  7.86869131145613259100e-4,
                                  1.84631831751005468180e-5,
                                  1.42151175831644588870e-7,
                                  2.04426310338993978564e-15};
  LANISTA_CHECK(p > 0 && p < 1, "normal_quantile: p outside (0, 1)");
  const double q = p - 0.5;
  if (q >= -0.425 && q <= 0.425) {
    const double r = 0.180625 - q * q;
    return q * polynomial(kA, r) / polynomial(kB, r);
  }
  // sqrt is correctly rounded by IEEE 754, unlike the rest of the library.
  const double r = std::sqrt(-portable_log(q < 0 ? p : 1.0 - p));
  const double tail =
      r <= 5.0 ? polynomial(kC, r - 1.6) / polynomial(kD, r - 1.6) : polynomial(kE, r - 5.0) / polynomial(kF, r - 5.0);
  return q < 0 ? -tail : tail;
}

}  // namespace lanista
