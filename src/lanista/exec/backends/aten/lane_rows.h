#pragma once

#include "lanista/exec/backends/aten/lane_calls.h"

namespace lanista::device {

constexpr std::int64_t kMaxRegisterRow = 256;  ///< numbers of a row that threads of a block keep, at most

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

struct LaneRowsMean {
  Tensor y;              ///< [lanes, samples, len]
  Tensor mean, inverse;  ///< [lanes, samples, rows] of each row
};
/// The mean over a sample's rows [lanes, samples, rows, len], without gaps, of at most kMaxRegisterRow numbers,
/// normalised each for itself; weight and bias are [lanes, len] that lie alike, or neither is there.
LaneRowsMean lane_rows_mean(const LaneKernels& kernels, const Tensor& x, const Tensor& weight, const Tensor& bias,
                            double eps);

/// Runs a kernel that sums two quantities per column, in double: [lanes, parts, 2 columns].
Tensor column_moments(const LaneKernels& kernels, const char* kernel, const Tensor& x, lane::ColumnSum call);

}  // namespace lanista::device
