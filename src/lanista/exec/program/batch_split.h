#pragma once

#include <algorithm>
#include <cstdint>

namespace lanista::nn {

/// Neighbouring samples of a batch that are computed together.
struct BatchPart {
  std::int64_t begin = 0, size = 0;
  std::int64_t number = 0;  ///< among the parts of the batch
  std::int64_t shard = 0;   ///< that it is of
  bool begins_shard = true, ends_shard = true;
};

/// Neighbouring shards that one rank of several computes, and where what they give is summed: the first in the order are
/// added up in one place, later ones keep a place each, until all ranks' places are added up in their order.
struct ShardRange {
  std::int64_t begin = 0, end = 0;

  bool contains(const BatchPart& part) const { return part.shard >= begin && part.shard < end; }
  std::int64_t num_accumulators() const { return begin == 0 ? 1 : end - begin; }
  std::int64_t accumulator(const BatchPart& part) const { return begin == 0 ? 0 : part.shard - begin; }
  /// Of a shard that nothing was added up with before.
  bool starts_accumulator(const BatchPart& part) const { return begin > 0 || part.shard == 0; }
};

/// How the samples of a step are cut: into shards, and each of these into pieces, neighbouring samples every time, of
/// sizes that differ by at most one, the larger ones in front. BatchParts without a sample are passed over.
struct BatchSplit {
  std::int64_t shards = 1, pieces = 1;

  bool is_whole() const { return shards == 1 && pieces == 1; }
  /// The most samples that a part of a batch of n has.
  std::int64_t largest_part(std::int64_t n) const { return divide_round_up(divide_round_up(n, shards), pieces); }
  /// BatchParts of a batch of n; grows with n.
  std::int64_t num_parts(std::int64_t n) const {
    std::int64_t count = 0;
    for_each_part(n, [&](const BatchPart&) { ++count; });
    return count;
  }
  /// Shards of a batch of n that have samples.
  std::int64_t num_used_shards(std::int64_t n) const { return std::min(shards, n); }
  /// Of a batch of n, what that rank of `width` computes; somebody has nothing to do where width exceeds used(n).
  ShardRange shards_of_rank(std::int64_t n, std::int64_t width, std::int64_t rank) const {
    return {part_begin(num_used_shards(n), width, rank), part_begin(num_used_shards(n), width, rank + 1)};
  }
  /// Calls `f(part)` for every part of a batch of n, in order.
  template <class F>
  void for_each_part(std::int64_t n, const F& f) const {
    std::int64_t number = 0;
    for (std::int64_t s = 0; s < num_used_shards(n); ++s) {
      const std::int64_t begin = part_begin(n, shards, s), size = part_begin(n, shards, s + 1) - begin;
      const std::int64_t used = std::min(pieces, size);
      for (std::int64_t p = 0; p < used; ++p, ++number) {
        const std::int64_t at = part_begin(size, pieces, p);
        f(BatchPart{begin + at, part_begin(size, pieces, p + 1) - at, number, s, p == 0, p + 1 == used});
      }
    }
  }

 private:
  static std::int64_t divide_round_up(std::int64_t n, std::int64_t count) { return (n + count - 1) / count; }
  // Where part `i` of `count` begins.
  static std::int64_t part_begin(std::int64_t n, std::int64_t count, std::int64_t i) {
    return n / count * i + std::min(n % count, i);
  }
};

}  // namespace lanista::nn
