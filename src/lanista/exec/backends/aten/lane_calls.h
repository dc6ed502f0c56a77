#pragma once

#include <algorithm>
#include <array>

#include "lanista/exec/backends/aten/aten_table.h"
#include "lanista/exec/backends/aten/lane_kernels.h"

// Calls of lane kernels on tensors, for the table entries in lane_*.cpp.
namespace lanista::device {

/// Returns `x` with the strides of `like`, which must be dense. It copies x if the strides differ.
Tensor with_layout_of(const Tensor& x, const Tensor& like);

/// Runs an element-wise lane kernel on x, and on dy if it is defined. The result has the layout of x if x is dense;
/// else it is contiguous.
///
/// `a` and `b` are the attributes of the operator.
Tensor lane_elementwise(const LaneKernels& kernels, const char* kernel, const Tensor& x, const Tensor& dy = {},
                        double a = 0, double b = 0);
/// Returns the sum of `terms[first]` and all later terms, in ascending order.
Tensor sum_of_terms_from(const Tensors& terms, std::size_t first);

/// Computes x [lanes, rows, columns] plus `by` [lanes, columns] into `y` or, if it is undefined, into x, and returns
/// the result. x and y are contiguous; `by` may be strided.
Tensor lane_add_columns(const LaneKernels& kernels, const Tensor& x, const Tensor& by, const Tensor& y = {});

/// Returns the sum over rows: [lanes, rows, columns] to [lanes, columns]. Sums are in double, in parts that depend on
/// `rows` alone.
Tensor lane_column_sum(const LaneKernels& kernels, const Tensor& rows);

/// Returns the sum over parts: [lanes, parts, columns] of double to [lanes, columns] of the type of `like`.
Tensor lane_sum_parts(const LaneKernels& kernels, const Tensor& parts, const at::TensorOptions& like);

/// Activation that a product or a normalisation applies to its result before it stores it, or, in a gradient kernel,
/// the activation by which it multiplies the derivative.
struct LaneActivation {
  /// Operator names, in the order of `lane::ActivationFn` from kRelu on.
  static constexpr std::array<const char*, 5> kNames{"relu", "gelu", "silu", "hard_swish", "clip"};
  lane::ActivationFn of = lane::kNoActivation;  ///< function
  double a = 0, b = 0;                          ///< limits of "clip"; 0 for the others

  /// Returns the activation of a call of one of kNames, or of its gradient operator ("relu_grad"); kNoActivation for
  /// any other operator.
  static LaneActivation of_call(const AtenCall& call);
  /// Returns the name of the operator. There must be an activation.
  const char* name() const;
};

/// Returns the strides of a value [lanes, samples, channels, rows, columns].
lane::Image image_of(const Tensor& x);

/// Returns x [lanes, columns] with contiguous columns. The lanes need not be contiguous.
Tensor dense_columns(const Tensor& x);

/// Returns x [lanes, samples, h, w, c] as a view [lanes, samples, c, h, w], the order of the graph.
inline Tensor to_channels_first(const Tensor& x) { return x.permute({0, 1, 4, 2, 3}); }

/// Returns true if a kernel may read four channels of an image at once, at every lane, sample and position.
bool can_load_fours(const Tensor& image);

/// Returns true if a kernel may read four columns of x [lanes, columns] at once in every lane. The columns are
/// contiguous.
bool lanes_can_load_fours(const Tensor& x);

/// Returns the number of elements that a kernel may read at once from rows of `columns` elements of a dense tensor: 4
/// or 1.
std::int64_t vector_width_of(const Tensor& x, std::int64_t columns);

/// Returns a table entry that calls `entry(call, &kernels)`. `kernels` must outlive it.
template <class F>
AtenPrepare with_kernels(const LaneKernels& kernels, F entry) {
  return [k = &kernels, entry](const AtenCall& call) -> AtenRun { return entry(call, k); };
}

/// Returns the number of rows that one thread sums, max(32, ceil(rows / 128)), so that there are at most 128 parts. It
/// depends on `rows` alone, so sums do not depend on the lanes.
inline std::int64_t rows_per_part(std::int64_t rows) { return std::max<std::int64_t>(32, (rows + 127) / 128); }

}  // namespace lanista::device
