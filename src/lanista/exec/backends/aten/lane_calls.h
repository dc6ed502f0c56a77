#pragma once

#include <algorithm>
#include <array>

#include "lanista/exec/backends/aten/aten_table.h"
#include "lanista/exec/backends/aten/lane_kernels.h"

// Calls of lanes' kernels on tensors, for the entries in lane_*.cpp.
namespace lanista::device {

/// `x` as `like` lies, whose memory has no gaps.
Tensor with_layout_of(const Tensor& x, const Tensor& like);
/// y of an element-by-element kernel, which lies as x does.
Tensor lane_elementwise(const LaneKernels& kernels, const char* kernel, const Tensor& x, const Tensor& dy = {},
                        double a = 0, double b = 0);
/// The sum of those from this one on, in their order.
Tensor sum_of_terms_from(const Tensors& terms, std::size_t first);
/// x + values of a column, in the memory of x, or of `y`; they are [lanes, rows, columns], contiguous.
Tensor lane_add_columns(const LaneKernels& kernels, const Tensor& x, const Tensor& by, const Tensor& y = {});
/// [lanes, rows, columns] -> [lanes, columns]; summed in double, in parts whose number depends on `rows` alone.
Tensor lane_column_sum(const LaneKernels& kernels, const Tensor& rows);
/// The sum of parts [lanes, parts, columns] of double, in values' type: [lanes, columns].
Tensor lane_sum_parts(const LaneKernels& kernels, const Tensor& parts, const at::TensorOptions& like);

/// What a product or a normalisation ends with: the function of an activation's operator, or of its gradient's.
struct LaneActivation {
  static constexpr std::array<const char*, 5> kNames{"relu", "gelu", "silu", "hard_swish", "clip"};
  lane::ActivationFn of = lane::kNoActivation;
  double a = 0, b = 0;  ///< attributes of the operator

  static LaneActivation of_call(const AtenCall& call);
  const char* name() const;  ///< of its operator; there is one
};

/// Where a value [lanes, samples, channels, rows, columns] lies.
lane::Image image_of(const Tensor& x);
/// [lanes, columns] whose columns are neighbours; lanes may lie apart.
Tensor dense_columns(const Tensor& x);
/// A value [lanes, samples, h, w, c] as the graph names its dimensions.
inline Tensor to_channels_first(const Tensor& x) { return x.permute({0, 1, 4, 2, 3}); }

/// Whether numbers may be read four at a time, whatever lane, sample or place of an image they are of.
bool can_load_fours(const Tensor& image);
/// Whether rows [lanes, columns], whose columns are neighbours, may be read four at a time in every lane.
bool lanes_can_load_fours(const Tensor& x);
/// 4 where so many of this tensor's numbers, of rows of `columns`, are read at once, else 1; it has no gaps.
std::int64_t vector_width_of(const Tensor& x, std::int64_t columns);
/// An entry that takes its kernels.
template <class F>
AtenPrepare with_kernels(const LaneKernels& kernels, F entry) {
  return [k = &kernels, entry](const AtenCall& call) -> AtenRun { return entry(call, k); };
}

/// Rows that one thread sums, in some hundred parts at most; a function of `rows` alone, so that sums do not depend on
/// lanes.
inline std::int64_t rows_per_part(std::int64_t rows) { return std::max<std::int64_t>(32, (rows + 127) / 128); }

}  // namespace lanista::device
