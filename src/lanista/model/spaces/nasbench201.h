#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "lanista/base/result.h"

namespace lanista::mutate {

/// A cell of NAS-Bench-201 (Dong and Yang, ICLR'20): four values, an operation on each of the six edges between them; a
/// value is the sum of what its edges bring.
struct Nasbench201Cell {
  static constexpr std::int64_t kCount = 15'625;  ///< 5 operations on 6 edges
  enum Op : std::uint8_t { kNone, kSkip, kConv1x1, kConv3x3, kAvgPool };
  /// Source and target of an edge, in the order of the published text form.
  struct Edge {
    int from = 0, to = 0;
  };
  static constexpr std::array<Edge, 6> kEdges{{{0, 1}, {0, 2}, {1, 2}, {0, 3}, {1, 3}, {2, 3}}};
  static constexpr std::array<std::string_view, 5> kOpNames{"none", "skip_connect", "nor_conv_1x1", "nor_conv_3x3",
                                                            "avg_pool_3x3"};

  std::array<Op, 6> ops{};  ///< one an edge

  /// Number `index` in [0, kCount), the first edge varying slowest; index() is the inverse.
  static Nasbench201Cell at(std::int64_t index);
  std::int64_t index() const;
  bool operator==(const Nasbench201Cell&) const = default;
};

/// "|nor_conv_3x3~0|+|none~0|skip_connect~1|+|…~0|…~1|…~2|", the notation of the published tables.
std::string nasbench201_text(const Nasbench201Cell& cell);
/// The inverse. Errors: kInvalidArgument with the place and what is allowed there.
Result<Nasbench201Cell> parse_nasbench201(std::string_view text);

/// What two cells may differ in and still be the same.
enum class Nasbench201Same {
  kSkips,          ///< a value reached by skip_connect is the value it came from: 12,751 distinct cells
  kSkipsAndZeros,  ///< and whatever comes from `none`, or passes through it, is one zero term: 6,466
  kFunction,       ///< and zero terms vanish from sums, sums of sums are one sum: 4,930
};
/// Equal keys mean equal cells in that sense. The first two are the published counting rules, under which a sum with a
/// zero term differs from the sum without it; the third is equality of what the cell computes.
std::string nasbench201_key(const Nasbench201Cell& cell, Nasbench201Same same);

/// Whether any path leads from the first value to the last without a `none` (341 cells have none).
bool nasbench201_live(const Nasbench201Cell& cell);

}  // namespace lanista::mutate
