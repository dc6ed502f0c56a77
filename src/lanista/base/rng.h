#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace lanista {

/// A splittable, counter-based random stream (Philox4x32-10; Salmon et al., SC'11).
///
/// A value: a copy continues from the same position. split() depends on the key alone and never on the position, so
/// results do not depend on the order of sampling. No standard distribution and no libm call is used. The bits are the
/// same on every machine. Not thread-safe.
class Rng {
 public:
  explicit Rng(std::uint64_t seed = 0);

  /// Returns an independent stream for `label`. The same key and label always give the same stream.
  Rng split(std::string_view label) const;
  /// Returns an independent stream for `index`. The same key and index always give the same stream.
  Rng split(std::uint64_t index) const;

  /// The 64-bit key, from which the stream can be made again from its start, for storage or for counter-based kernels.
  std::uint64_t key() const { return key_; }

  std::uint64_t next();                                     ///< 64 uniform bits.
  double uniform();                                         ///< In [0, 1), 53 bits.
  double uniform(double lo, double hi);                     ///< In [lo, hi); lo if both are equal; lo <= hi.
  std::uint64_t below(std::uint64_t n);                     ///< Uniform in 0..n-1, unbiased; n > 0.
  std::int64_t between(std::int64_t lo, std::int64_t hi);   ///< Uniform integer from lo to hi, both included.
  double normal();                                          ///< Standard normal (inverse CDF, AS 241).
  bool bernoulli(double p);                                 ///< True with probability p.
  std::vector<std::uint32_t> permutation(std::uint32_t n);  ///< Random order of 0..n-1 (Fisher-Yates).
  /// `k` distinct numbers of 0..n-1 in random order; k <= n.
  std::vector<std::uint32_t> sample_without_replacement(std::uint32_t n, std::uint32_t k);

  bool operator==(const Rng&) const = default;

 private:
  std::uint64_t key_ = 0;
  std::uint64_t counter_ = 0;
};

/// Returns four random 32-bit numbers of Philox4x32-10 as a pure function of key and counter (random access).
std::array<std::uint32_t, 4> philox(std::uint64_t key, std::uint64_t counter_hi, std::uint64_t counter_lo);

/// Standard normal quantile of p in (0, 1), to about 1e-16 (Wichura, AS 241).
double normal_quantile(double p);

}  // namespace lanista
