#pragma once

#include "lanista/device/lane_calls.h"

namespace lanista::device {

/// Rows [lanes, rows, len] that were normalised each for itself.
struct LaneRows {
  Tensor x, mean, inverse;  ///< [lanes, rows, len], [lanes, rows] of each; without gaps
  Tensor weight = {};       ///< [lanes, len], if they were weighed; columns are neighbours
};
struct LaneRowsGrad {
  Tensor x;             ///< as it lies
  Tensor weight, bias;  ///< [lanes, len], whether there are any or not
};
/// By dy, which lies as x does, or has fewer rows: each of them is then that of some rows, one behind the other. Rows
/// of some hundred numbers are read once. How sums are parted hangs on rows and len alone.
/// `other` lies as x does, too, and is added to the gradient by x.
LaneRowsGrad lane_rows_grad(const LaneKernels& kernels, const LaneRows& of, const Tensor& dy, const Tensor& other = {});

/// Sums of columns in double, [lanes, parts, 2 columns]: the kernel's of two for each.
Tensor sums_of_columns(const LaneKernels& kernels, const char* kernel, const Tensor& x, lane::ColumnSum call);

}  // namespace lanista::device
