// Gradient of row normalisation.
#include "lanista/exec/backends/aten/lane_rows.h"

namespace lanista::device {
namespace {

struct RowKernelNames {
  std::int64_t longest, share;  // longest row; threads per row
  const char *grad, *mean;
};
constexpr std::array<RowKernelNames, 3> kKernels{{{64, 16, "row_grad_64", "row_mean_64"},
                                                  {128, 32, "row_grad_128", "row_mean_128"},
                                                  {kMaxRegisterRow, 32, "row_grad_256", "row_mean_256"}}};
const RowKernelNames& kernels_of(std::int64_t len) {
  return *std::ranges::find_if(kKernels, [len](const RowKernelNames& k) { return len <= k.longest; });
}

void of_short_rows(const LaneKernels& kernels, const LaneRows& of, const Tensor& dy, const Tensor& other,
                   const Tensor& dx, Tensor& sums) {
  const std::int64_t lanes = of.x.size(0), rows = of.x.size(1), len = of.x.size(2);
  const RowKernelNames& kernel = kernels_of(len);
  const std::int64_t each = lane::RowGrad::kThreads / kernel.share * lane::RowGrad::kEach,
                     parts = (rows + each - 1) / each;
  sums = at::empty({lanes, parts, 2 * len}, of.x.options().dtype(at::kDouble));
  lane::RowGrad call{};
  call.x = of.x.data_ptr(), call.dy = dy.data_ptr(), call.y = dx.data_ptr();
  call.mean = of.mean.data_ptr(), call.inverse = of.inverse.data_ptr();
  call.sums = sums.data_ptr<double>();
  call.len = len, call.rows = rows, call.parts = parts, call.rows_per_dy = rows / dy.size(1);
  call.fours = vector_width_of(of.x, len) == 4 && vector_width_of(dy, len) == 4 && vector_width_of(dx, len) == 4;
  if (of.weight.defined()) {
    call.weight = of.weight.data_ptr(), call.stride = of.weight.stride(0);
    call.weight_can_load_fours = lanes_can_load_fours(of.weight);
  }
  if (other.defined()) {
    call.other = other.data_ptr();
    call.fours = call.fours != 0 && vector_width_of(other, len) == 4;
  }
  kernels.run_tiles(kernel.grad, of.x.scalar_type(), lanes * parts, lane::RowGrad::kThreads, call);
}

void of_long_rows(const LaneKernels& kernels, const LaneRows& of, const Tensor& few, const Tensor& other,
                  const Tensor& dx, Tensor& sums) {
  const Tensor dy = few.repeat_interleave(of.x.size(1) / few.size(1), 1);
  const std::int64_t rows = of.x.size(1), len = of.x.size(2);
  lane::Rows call{};
  call.x = of.x.data_ptr(), call.dy = dy.data_ptr(), call.y = dx.data_ptr();
  call.mean = of.mean.data_ptr(), call.inverse = of.inverse.data_ptr();
  call.len = len, call.rows_per_lane = rows;
  if (of.weight.defined()) call.weight = of.weight.data_ptr(), call.stride = of.weight.stride(0);
  if (other.defined()) call.other = other.data_ptr();
  kernels.run_rows("layer_norm_grad", of.x.scalar_type(), of.x.size(0) * rows, len, call);
  lane::ColumnSum sum{};
  sum.dy = dy.data_ptr(), sum.mean = of.mean.data_ptr(), sum.inverse = of.inverse.data_ptr();
  sums = column_moments(kernels, "row_norm_grad_part", of.x, sum);
}

}  // namespace

LaneRowsGrad lane_rows_grad(const LaneKernels& kernels, const LaneRows& of, const Tensor& dy, const Tensor& other) {
  const std::int64_t len = of.x.size(2);
  Tensor dx = at::empty_like(of.x), sums;
  (len <= kMaxRegisterRow ? of_short_rows : of_long_rows)(kernels, of, dy, other, dx, sums);
  const Tensor all = lane_sum_parts(kernels, sums, of.x.options());
  return {dx, all.narrow(1, 0, len), all.narrow(1, len, len)};
}

LaneRowsMean lane_rows_mean(const LaneKernels& kernels, const Tensor& x, const Tensor& weight, const Tensor& bias,
                            double eps) {
  const std::int64_t lanes = x.size(0), samples = x.size(1), rows = x.size(2), len = x.size(3);
  const LaneRowsMean made{at::empty({lanes, samples, len}, x.options()), at::empty({lanes, samples, rows}, x.options()),
                          at::empty({lanes, samples, rows}, x.options())};
  lane::RowMean call{};
  call.x = x.data_ptr(), call.y = made.y.data_ptr();
  call.mean = made.mean.data_ptr(), call.inverse = made.inverse.data_ptr();
  call.eps = eps, call.len = len, call.rows = rows, call.samples = samples, call.fours = vector_width_of(x, len) == 4;
  if (weight.defined()) {
    TORCH_CHECK(weight.stride(0) == bias.stride(0), "weights with different strides");
    call.weight = weight.data_ptr(), call.bias = bias.data_ptr(), call.stride = weight.stride(0);
  }
  kernels.run_tiles(kernels_of(len).mean, x.scalar_type(), lanes * samples, lane::RowMean::kThreads, call);
  return made;
}

Tensor column_moments(const LaneKernels& kernels, const char* kernel, const Tensor& x, lane::ColumnSum call) {
  const std::int64_t lanes = x.size(0), columns = x.size(2), each = rows_per_part(x.size(1));
  const std::int64_t parts = (x.size(1) + each - 1) / each;
  Tensor out = at::empty({lanes, parts, 2 * columns}, x.options().dtype(at::kDouble));
  call.x = x.data_ptr();
  call.out = out.data_ptr();
  call.rows = x.size(1);
  call.columns = columns;
  call.each = each;
  call.parts = parts;
  kernels.run(kernel, x.scalar_type(), lanes * parts * columns, call);
  return out;
}

}  // namespace lanista::device
