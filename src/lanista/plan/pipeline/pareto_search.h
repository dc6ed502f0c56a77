#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "lanista/plan/pipeline/outline.h"

namespace lanista::pipeline {

/// Consecutive operators of an outline that form a stage.
struct StageRange {
  std::uint32_t begin = 0;       ///< Index in Outline::order of the first operator.
  std::uint32_t end = 0;         ///< Index in Outline::order after the last operator.
  std::size_t device_class = 0;  ///< Index of the class of its devices.
  std::int64_t degree = 1;       ///< Number of devices; 0: co-located on the devices of another stage.
};

/// The dynamic programme that finds stages for a given time per sample, for one micro-batch size.
///
/// A value of a part of the tree has the devices of each class that it needs, and the micro-batches that its source
/// holds. It depends on the micro-batches in flight after the part (`height`). Values that others dominate are dropped.
/// At most kMaxValues remain: those with the fewest devices, and two with the most. Values are kept for later probes:
/// those for a time t are valid for smaller times which their slowest stage still meets. Equal parts
/// (Outline::Node::first_equal) are solved once.
///
/// With `colocated`, small parts next to a fork or a join may be stages without devices of their own. As a part of one
/// branch's stage they would make it wait for the other branches. Small means at most kMaxColocatedShare of the time
/// per sample, and kMaxColocatedTotal for all together.
class ParetoSearch {
 public:
  static constexpr std::size_t kMaxValues = 8;        ///< Most values of a part.
  static constexpr double kMaxColocatedShare = 0.03;  ///< Largest co-located stage, as part of the time per sample.
  /// Sum of all co-located stages, as part of the time per sample.
  static constexpr double kMaxColocatedTotal = 0.25;

  /// Begins a search. `problem` and `outline` must live as long as the search. `micro_batch` is in samples. True
  /// `colocated`: stages without devices of their own are allowed.
  ParetoSearch(const Problem& problem, const Outline& outline, std::int64_t micro_batch, bool colocated = false);

  /// One possible division of the model into stages.
  struct ParetoPoint {
    std::vector<StageRange> stage_ranges;  ///< The stages, in the order of the tree.
    /// Seconds of the slowest stage for each sample. It is larger if co-located stages would exceed their shares of it.
    double seconds_per_sample = 0;
    std::int64_t depth = 0;  ///< Number of stages on the longest path.
  };
  /// Returns divisions in which each stage needs at most `seconds_per_sample`, with the available devices and memory.
  ///
  /// Those with the fewest devices come first. Empty if there is none.
  std::vector<ParetoPoint> probe(double seconds_per_sample);
  /// Returns a lower bound on the seconds of the slowest stage for each sample: all work divided evenly, at the best
  /// size for a device.
  double least_seconds_per_sample() const;

  std::int64_t states = 0;      ///< Number of tree parts that all probes solved.
  std::int64_t num_cached = 0;  ///< Number of tree parts with a result that was known already.

 private:
  using Counts = std::array<std::int32_t, kMaxDeviceClasses>;
  struct Value {
    Counts devices{};
    std::int32_t height = 0;
    std::uint32_t part = 0;
    double slowest = 0;
    double colocated = 0;  ///< Seconds a sample of all co-located stages.
  };
  using Front = std::vector<Value>;
  struct CachedFront {
    double from = 0, to = 0;
    Front front;
  };
  /// A stage before another part, or two parts. The first part was found for operators `shift` positions earlier.
  struct Part {
    StageRange stage_range;
    std::uint32_t first = 0, second = 0, shift = 0;
  };
  struct Degree {
    std::size_t device_class;
    std::int64_t devices;
    std::size_t table;   ///< Number of the table of prefix times.
    double per_second;   ///< Seconds a sample for each second of a table.
    double reduce;       ///< Seconds a sample of a gradient sum without bytes.
    double reduce_byte;  ///< Seconds a sample of a gradient sum for each byte.
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
  std::vector<std::vector<double>> times_;  ///< [table][operator]: seconds of all operators before.
  std::vector<double> parameters_, kept_;
  std::vector<double> received_;  ///< [node]: bytes received by it and the parts before it or parallel to it.
  Link link_;                     ///< The slowest link.
  double limit_ = 0;
  std::vector<Part> parts_;
  std::map<std::pair<std::uint32_t, std::int32_t>, CachedFront> memo_;
};

}  // namespace lanista::pipeline
