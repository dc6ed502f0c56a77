#pragma once

#include <algorithm>
#include <cstdint>

namespace lanista::program {

/// Neighbouring samples of a batch that are computed together.
struct BatchPart {
  std::int64_t begin = 0, size = 0;             ///< First sample, and number of samples.
  std::int64_t number = 0;                      ///< Index among the parts of the batch, from 0.
  std::int64_t shard = 0;                       ///< Index of the shard to which the part belongs, from 0.
  bool begins_shard = true, ends_shard = true;  ///< True: the part is the first, or the last, of its shard.
};

/// The neighbouring shards that one rank computes, and the accumulators in which it sums them.
///
/// The rank that has shard 0 adds all its shards into one accumulator. Every other rank has one accumulator a shard.
/// All accumulators are then added in order of ranks, so the additions are those of a single rank.
struct ShardRange {
  std::int64_t begin = 0, end = 0;  ///< First shard, and one past the last, by index.

  /// True if the part belongs to one of these shards.
  bool contains(const BatchPart& part) const { return part.shard >= begin && part.shard < end; }
  /// Number of accumulators of the rank.
  std::int64_t num_accumulators() const { return begin == 0 ? 1 : end - begin; }
  /// Index of the accumulator into which this rank sums the part, from 0.
  std::int64_t accumulator(const BatchPart& part) const { return begin == 0 ? 0 : part.shard - begin; }
  /// True if the part belongs to the first shard that is summed into its accumulator.
  bool starts_accumulator(const BatchPart& part) const { return begin > 0 || part.shard == 0; }
};

/// The division of a step's samples into shards, and of each shard into pieces; a part is one piece that has samples.
///
/// Shards and pieces are neighbouring samples. Their sizes differ by at most one, larger ones first. Parts without a
/// sample are skipped.
struct BatchSplit {
  std::int64_t shards = 1, pieces = 1;  ///< Shards of a batch, pieces of a shard.

  /// True if the whole batch is one part.
  bool is_whole() const { return shards == 1 && pieces == 1; }
  /// The largest number of samples that a part of a batch of n samples can have.
  std::int64_t largest_part(std::int64_t n) const { return divide_round_up(divide_round_up(n, shards), pieces); }
  /// Number of parts of a batch of n samples. It does not decrease as n grows.
  std::int64_t num_parts(std::int64_t n) const {
    std::int64_t count = 0;
    for_each_part(n, [&](const BatchPart&) { ++count; });
    return count;
  }
  /// Number of shards of a batch of n samples that have samples.
  std::int64_t num_used_shards(std::int64_t n) const { return std::min(shards, n); }
  /// The shards of a batch of n samples that rank `rank` of `width` ranks computes. For some ranks the range is empty
  /// if width exceeds num_used_shards(n).
  ShardRange shards_of_rank(std::int64_t n, std::int64_t width, std::int64_t rank) const {
    return {part_begin(num_used_shards(n), width, rank), part_begin(num_used_shards(n), width, rank + 1)};
  }
  /// Calls `f(part)` for every part of a batch of n samples, in ascending order.
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

}  // namespace lanista::program
