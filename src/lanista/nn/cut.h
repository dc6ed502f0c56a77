#pragma once

#include <algorithm>
#include <cstdint>

namespace lanista::nn {

/// Neighbouring samples of a batch that are computed together.
struct Part {
  std::int64_t begin = 0, size = 0;
  std::int64_t number = 0;  ///< among the parts of the batch
  bool first_shard = true;  ///< in the first shard?
  bool begins_shard = true, ends_shard = true;
};

/// How the samples of a step are cut: into shards, and each of these into pieces, neighbouring samples every time, of
/// sizes that differ by at most one, the larger ones in front. Parts without a sample are passed over.
struct Cut {
  std::int64_t shards = 1, pieces = 1;

  bool whole() const { return shards == 1 && pieces == 1; }
  /// The most samples that a part of a batch of n has.
  std::int64_t largest(std::int64_t n) const { return up(up(n, shards), pieces); }
  /// Parts of a batch of n; grows with n.
  std::int64_t parts(std::int64_t n) const {
    std::int64_t count = 0;
    each(n, [&](const Part&) { ++count; });
    return count;
  }
  /// Calls `f(part)` for every part of a batch of n, in order.
  template <class F>
  void each(std::int64_t n, const F& f) const {
    std::int64_t number = 0;
    for (std::int64_t s = 0; s < std::min(shards, n); ++s) {
      const std::int64_t begin = first(n, shards, s), size = first(n, shards, s + 1) - begin;
      const std::int64_t used = std::min(pieces, size);
      for (std::int64_t p = 0; p < used; ++p, ++number) {
        const std::int64_t at = first(size, pieces, p);
        f(Part{begin + at, first(size, pieces, p + 1) - at, number, s == 0, p == 0, p + 1 == used});
      }
    }
  }

 private:
  static std::int64_t up(std::int64_t n, std::int64_t count) { return (n + count - 1) / count; }
  // Where part `i` of `count` begins.
  static std::int64_t first(std::int64_t n, std::int64_t count, std::int64_t i) {
    return n / count * i + std::min(n % count, i);
  }
};

}  // namespace lanista::nn
