#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "lanista/plan/pipeline/outline.h"

namespace lanista::pipeline {

/// Operators of a row that run together.
struct StageRange {
  std::uint32_t begin = 0, end = 0;
  std::size_t device_class = 0;
  std::int64_t degree = 1;  ///< devices; 0: a guest on those of another stage
};

/// The dynamic programme for one micro-batch size: which stages meet a time per sample.
///
/// A value is what a part of the tree needs if what comes behind it holds `height` micro-batches in flight: devices of
/// each class, and how many micro-batches its source then holds. Of values only those remain that no other one equals
/// or beats in all of these (at most kMaxValues, those with fewest devices). Values are remembered over probes: what
/// was found for t holds for every smaller t' that its own slowest stage still meets, and what is impossible at t is so
/// at all t' below. Parts that are alike in everything (Outline::Node::like) are worked out once.
///
/// With `colocated`, what stands beside a fork or a join and takes next to nothing (kMaxColocatedShare of t, all of
/// them together kMaxColocatedTotal) may be a stage without devices of its own: as a part of one of the branches'
/// stages it would make that one wait for all the others.
class ParetoSearch {
 public:
  static constexpr std::size_t kMaxValues = 8;
  static constexpr double kMaxColocatedShare = 0.03, kMaxColocatedTotal = 0.25;

  /// Both outlive it.
  ParetoSearch(const Problem& problem, const Outline& outline, std::int64_t micro_batch, bool colocated = false);

  struct ParetoPoint {
    std::vector<StageRange> stage_ranges;
    double seconds_per_sample = 0;
    std::int64_t depth = 0;  ///< stages on the longest path
  };
  /// All that meets `seconds_per_sample` and does not need more than there is; empty if nothing does.
  std::vector<ParetoPoint> probe(double seconds_per_sample);
  /// No stages can meet less: all work shared out evenly, at the best of all sizes that a device may get.
  double least_seconds_per_sample() const;

  std::int64_t states = 0, num_cached = 0;

 private:
  using Counts = std::array<std::int32_t, kMaxDeviceClasses>;
  struct Value {
    Counts devices{};
    std::int32_t height = 0;
    std::uint32_t part = 0;
    double slowest = 0;
    double colocated = 0;  ///< seconds a sample of all guests
  };
  using Front = std::vector<Value>;
  struct CachedFront {
    double from = 0, to = 0;
    Front front;
  };
  /// A stage in front of another part, or two parts; the first of them was found for operators `shift` places before.
  struct Part {
    StageRange stage_range;
    std::uint32_t first = 0, second = 0, shift = 0;
  };
  struct Degree {
    std::size_t device_class;
    std::int64_t devices;
    std::size_t table;  ///< of prefix times
    // What a second of these is a sample of, and what a sum of gradients takes a sample.
    double per_second, reduce, reduce_byte;
  };

  const Front& solve(std::uint32_t node, std::int32_t height);
  Front solve_series(const Outline::Node& node, std::int32_t height);
  Front solve_parallel(const Outline::Node& node, std::int32_t height);
  void add_runs(const Outline::Node& node, std::size_t i, const std::vector<Front>& best,
                std::vector<std::size_t>& ends, Front& out);
  bool add_run(const Outline::Node& node, std::size_t i, std::size_t j, const Degree& degree, const Front& rest,
               Front& out);
  void add_colocated(std::uint32_t begin, std::uint32_t end, const Value& rest, std::int32_t height, Front& out);
  static Value sum_of(const Value& first, const Value& second, std::int32_t height);
  void add_combined(const Value& first, const Value& second, std::int32_t height, std::uint32_t shift, Front& out);
  double rate(std::uint32_t begin, std::uint32_t end, const Degree& degree) const;
  bool fits(std::uint32_t begin, std::uint32_t end, const Degree& degree, double received, std::int32_t height) const;
  bool is_affordable(const Counts& devices) const;
  static bool dominates(const Value& a, const Value& b);
  bool is_non_dominated(const Front& front, const Value& value) const;
  static void insert(Front& front, const Value& value);
  void gather(std::uint32_t part, std::vector<StageRange>& stage_ranges) const;

  const Problem& problem_;
  const Outline& outline_;
  const std::int64_t micro_batch_;
  const bool allows_colocation_;
  std::vector<Degree> degrees_;
  std::vector<std::vector<double>> times_;  ///< [table][operators so far]
  std::vector<double> parameters_, kept_;
  std::vector<double> received_;  ///< [node]: by it and the parts in front of it, in its series or beside it
  Link link_;                     ///< the slowest
  double limit_ = 0;
  std::vector<Part> parts_;
  std::map<std::pair<std::uint32_t, std::int32_t>, CachedFront> memo_;
};

}  // namespace lanista::pipeline
