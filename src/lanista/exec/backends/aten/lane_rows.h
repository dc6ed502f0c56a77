#pragma once

#include "lanista/exec/backends/aten/lane_calls.h"

namespace lanista::device {

/// Longest row, in elements, that the threads of a block keep in registers.
constexpr std::int64_t kMaxRegisterRow = 256;

/// Rows of a layer normalisation and their statistics.
struct LaneRows {
  Tensor x;            ///< input [lanes, rows, len], dense
  Tensor mean;         ///< mean of each row [lanes, rows], dense
  Tensor inverse;      ///< inverse standard deviation of each row [lanes, rows], dense
  Tensor weight = {};  ///< [lanes, len] with contiguous columns; undefined if there is none
};

/// Gradients of a layer normalisation.
struct LaneRowsGrad {
  Tensor x;             ///< gradient of the input, with its layout
  Tensor weight, bias;  ///< [lanes, len] each; always computed
};

/// Returns the gradients of a layer normalisation.
///
/// `dy` has the layout of x, or fewer rows; then each of its rows belongs to several consecutive rows of x. `other` has
/// the layout of x and is added to the gradient of x. Rows of up to kMaxRegisterRow elements are read once. The split
/// of sums into parts depends on rows and len alone.
LaneRowsGrad lane_rows_grad(const LaneKernels& kernels, const LaneRows& of, const Tensor& dy, const Tensor& other = {});

/// Mean over normalised rows, and the statistics of the rows.
struct LaneRowsMean {
  Tensor y;              ///< [lanes, samples, len]
  Tensor mean, inverse;  ///< [lanes, samples, rows] of each row
};

/// Returns the layer normalisation of each row of x [lanes, samples, rows, len], averaged over the rows of a sample.
///
/// x is dense, and len is at most kMaxRegisterRow. `weight` and `bias` are [lanes, len] with equal strides, or both are
/// undefined.
LaneRowsMean lane_rows_mean(const LaneKernels& kernels, const Tensor& x, const Tensor& weight, const Tensor& bias,
                            double eps);

/// Returns the sums of two quantities per column of x [lanes, rows, columns], in double: [lanes, parts, 2 columns].
/// `kernel` names the kernel that adds them. `call` has its other inputs; x, the result and the sizes are set here.
Tensor column_moments(const LaneKernels& kernels, const char* kernel, const Tensor& x, lane::ColumnSum call);

}  // namespace lanista::device
