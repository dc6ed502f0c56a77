#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace lanista::mutate {

/// A cell of NAS-Bench-201 (Dong and Yang, ICLR'20): four values, with an operation on each of the six edges between
/// them. A value is the sum of the results of its incoming edges.
struct Nasbench201Cell {
  static constexpr std::int64_t kCount = 15'625;  ///< number of cells: 5 operations on 6 edges
  /// The operation of an edge.
  enum Op : std::uint8_t { kNone, kSkip, kConv1x1, kConv3x3, kAvgPool };
  /// Source and target of an edge: numbers of values from 0 (input) to 3 (output).
  struct Edge {
    int from = 0, to = 0;  ///< source and target, from < to
  };
  /// The edges, in the order of the published text form. `ops` has the same order.
  static constexpr std::array<Edge, 6> kEdges{{{0, 1}, {0, 2}, {1, 2}, {0, 3}, {1, 3}, {2, 3}}};
  /// The published names of the operations, by `Op`.
  static constexpr std::array<std::string_view, 5> kOpNames{"none", "skip_connect", "nor_conv_1x1", "nor_conv_3x3",
                                                            "avg_pool_3x3"};

  std::array<Op, 6> ops{};  ///< operation of each edge

  /// The cell with number `index` in [0, kCount). The operation of the first edge changes last. Another index is a bug
  /// of the caller.
  static Nasbench201Cell at(std::int64_t index);
  /// The number of this cell, so that at(index()) returns it.
  std::int64_t index() const;
  bool operator==(const Nasbench201Cell&) const = default;
};

/// The text of a cell in the published notation: "|nor_conv_3x3~0|+|none~0|skip_connect~1|+|…~0|…~1|…~2|".
std::string nasbench201_text(const Nasbench201Cell& cell);

/// A rule by which two cells count as the same.
enum class Nasbench201Same {
  kSkips,          ///< The result of skip_connect is the value that it reads: 12,751 distinct cells.
  kSkipsAndZeros,  ///< In addition, everything that passes through `none` is one zero term: 6,466 distinct cells.
  kFunction,       ///< In addition, zero terms vanish and nested sums are one sum: 4,930 distinct cells.
};
/// Returns a text that is equal for two cells if and only if they are the same under the rule.
///
/// The first two rules are the published ones, under which a sum with a zero term differs from the sum without it. The
/// third is equality of the computed function.
std::string nasbench201_key(const Nasbench201Cell& cell, Nasbench201Same same);

/// True if a path without `none` leads from the first value to the last. 341 cells have no such path.
bool nasbench201_live(const Nasbench201Cell& cell);

}  // namespace lanista::mutate
