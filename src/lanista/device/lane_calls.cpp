#include "lanista/device/lane_calls.h"

namespace lanista::device {
namespace {

// `x` as `like` lies, whose memory has no gaps.
Tensor lying_as(const Tensor& x, const Tensor& like) {
  if (x.strides() == like.strides()) return x;
  Tensor y = at::empty_like(like);
  y.copy_(x);
  return y;
}

}  // namespace

Tensor lane_elementwise(const LaneKernels& kernels, const char* kernel, const Tensor& x, const Tensor& dy, double a,
                        double b) {
  const Tensor from = x.is_non_overlapping_and_dense() ? x : x.contiguous();
  const Tensor other = dy.defined() ? lying_as(dy, from) : Tensor();
  Tensor y = at::empty_like(from);
  kernels.run(kernel, x.scalar_type(), x.numel(),
              lane::Elementwise{from.data_ptr(), other.defined() ? other.data_ptr() : nullptr, y.data_ptr(), a, b});
  return y;
}

Tensor lane_add_columns(const LaneKernels& kernels, const Tensor& x, const Tensor& by) {
  const Tensor own = dense_columns(by);
  kernels.run("add_columns", x.scalar_type(), x.numel(),
              lane::Columns{x.data_ptr(), own.data_ptr(), x.data_ptr(), x.size(1) * x.size(2), x.size(2), own.stride(0)});
  return x;
}

Tensor lane_fold(const LaneKernels& kernels, Tensor parts, at::ScalarType type) {
  while (parts.size(1) > 1) {
    const std::int64_t rows = parts.size(1), left = parts_of(rows);
    Tensor out = at::empty({parts.size(0), left, parts.size(2)}, parts.options());
    kernels.run("column_fold", type, out.numel(),
                lane::ColumnSum{parts.data_ptr(), nullptr, nullptr, nullptr, out.data_ptr(), rows, parts.size(2),
                          kRowsOfPart, left});
    parts = out;
  }
  return parts;
}

Tensor lane_fold_to(const LaneKernels& kernels, const Tensor& parts, const at::TensorOptions& like) {
  const at::ScalarType type = c10::typeMetaToScalarType(like.dtype());
  Tensor left = parts;
  while (left.size(1) > kRowsOfPart) {
    const std::int64_t rows = left.size(1), fewer = parts_of(rows);
    Tensor out = at::empty({left.size(0), fewer, left.size(2)}, left.options());
    kernels.run("column_fold", type, out.numel(),
                lane::ColumnSum{left.data_ptr(), nullptr, nullptr, nullptr, out.data_ptr(), rows, left.size(2), kRowsOfPart,
                          fewer});
    left = out;
  }
  Tensor out = at::empty({left.size(0), left.size(2)}, like);
  kernels.run("column_end", type, out.numel(),
              lane::ColumnSum{left.data_ptr(), nullptr, nullptr, nullptr, out.data_ptr(), left.size(1), left.size(2), 0, 1});
  return out;
}

Tensor lane_column_sum(const LaneKernels& kernels, const Tensor& rows) {
  const Tensor x = rows.contiguous();
  const std::int64_t lanes = x.size(0), count = x.size(1), columns = x.size(2);
  if (count <= 2 * kRowsOfPart) {
    Tensor out = at::empty({lanes, columns}, x.options());
    kernels.run("column_whole", x.scalar_type(), out.numel(),
                lane::ColumnSum{x.data_ptr(), nullptr, nullptr, nullptr, out.data_ptr(), count, columns, count, 1});
    return out;
  }
  const std::int64_t parts = parts_of(count);
  Tensor out = at::empty({lanes, parts, columns}, x.options().dtype(at::kDouble));
  kernels.run("column_part", x.scalar_type(), out.numel(),
              lane::ColumnSum{x.data_ptr(), nullptr, nullptr, nullptr, out.data_ptr(), count, columns, kRowsOfPart, parts});
  return lane_fold_to(kernels, out, x.options());
}

lane::Image image_of(const Tensor& x) {
  return {x.stride(0), x.stride(1), x.stride(2), x.stride(3), x.stride(4)};
}

Tensor dense_columns(const Tensor& x) { return x.size(1) <= 1 || x.stride(1) == 1 ? x : x.contiguous(); }

}  // namespace lanista::device
