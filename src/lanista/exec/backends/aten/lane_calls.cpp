#include "lanista/exec/backends/aten/lane_calls.h"

#include <cstdint>
#include <string_view>

namespace lanista::device {
namespace {

constexpr std::int64_t kFewRows = 64;  // up to which one thread sums a column

}  // namespace

Tensor with_layout_of(const Tensor& x, const Tensor& like) {
  if (x.strides() == like.strides()) return x;
  Tensor y = at::empty_like(like);
  y.copy_(x);
  return y;
}

Tensor lane_elementwise(const LaneKernels& kernels, const char* kernel, const Tensor& x, const Tensor& dy, double a,
                        double b) {
  const Tensor from = x.is_non_overlapping_and_dense() ? x : x.contiguous();
  const Tensor other = dy.defined() ? with_layout_of(dy, from) : Tensor();
  Tensor y = at::empty_like(from);
  const std::int64_t vector_width = std::min({vector_width_of(from, x.numel()), vector_width_of(y, x.numel()),
                                              other.defined() ? vector_width_of(other, x.numel()) : std::int64_t{4}});
  kernels.run(kernel, x.scalar_type(), x.numel() / vector_width,
              lane::Elementwise{from.data_ptr(), other.defined() ? other.data_ptr() : nullptr, y.data_ptr(), a, b,
                                vector_width});
  return y;
}

Tensor sum_of_terms_from(const Tensors& terms, std::size_t first) {
  Tensor sum = terms[first];
  for (std::size_t i = first + 1; i < terms.size(); ++i) sum = sum + terms[i];
  return sum;
}

Tensor lane_add_columns(const LaneKernels& kernels, const Tensor& x, const Tensor& by, const Tensor& y) {
  const Tensor own = dense_columns(by), to = y.defined() ? y : x;
  const std::int64_t vector_width = std::min(vector_width_of(x, x.size(2)), vector_width_of(to, x.size(2)));
  kernels.run("add_columns", x.scalar_type(), x.numel() / vector_width,
              lane::Columns{x.data_ptr(), own.data_ptr(), to.data_ptr(), x.size(1) * x.size(2), x.size(2),
                            own.stride(0), vector_width, lanes_can_load_fours(own)});
  return to;
}

Tensor lane_sum_parts(const LaneKernels& kernels, const Tensor& parts, const at::TensorOptions& like) {
  Tensor out = at::empty({parts.size(0), parts.size(2)}, like);
  kernels.run_rows(
      "column_end", c10::typeMetaToScalarType(like.dtype()), out.numel(), parts.size(1),
      lane::ColumnSum{parts.data_ptr(), nullptr, nullptr, nullptr, out.data_ptr(), parts.size(1), parts.size(2), 0, 1});
  return out;
}

Tensor lane_column_sum(const LaneKernels& kernels, const Tensor& rows) {
  const Tensor x = rows.contiguous();
  const std::int64_t lanes = x.size(0), count = x.size(1), columns = x.size(2), each = rows_per_part(count);
  if (count <= 2 * each) {
    Tensor out = at::empty({lanes, columns}, x.options());
    const lane::ColumnSum few{x.data_ptr(), nullptr, nullptr, nullptr, out.data_ptr(), count, columns, count, 1};
    if (count <= kFewRows) {
      kernels.run("column_few", x.scalar_type(), out.numel(), few);
      return out;
    }
    kernels.run_rows("column_whole", x.scalar_type(), out.numel(), count, few);
    return out;
  }
  const std::int64_t parts = (count + each - 1) / each;
  Tensor out = at::empty({lanes, parts, columns}, x.options().dtype(at::kDouble));
  kernels.run("column_part", x.scalar_type(), out.numel(),
              lane::ColumnSum{x.data_ptr(), nullptr, nullptr, nullptr, out.data_ptr(), count, columns, each, parts});
  return lane_sum_parts(kernels, out, x.options());
}

LaneActivation LaneActivation::of_call(const AtenCall& call) {
  std::string_view name = call.args.def.name;
  if (name.ends_with("_grad")) name.remove_suffix(5);
  LaneActivation end;
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (name == kNames[i]) end.of = static_cast<lane::ActivationFn>(i + 1);
  }
  if (end.of == lane::kClip) end.a = call.args.real("min"), end.b = call.args.real("max");
  return end;
}

const char* LaneActivation::name() const { return kNames.at(static_cast<std::size_t>(of) - 1); }

lane::Image image_of(const Tensor& x) { return {x.stride(0), x.stride(1), x.stride(2), x.stride(3), x.stride(4)}; }

bool can_load_fours(const Tensor& x) {
  bool even = vector_width_of(x, x.size(2)) == 4 && x.stride(2) == 1;
  for (const std::int64_t dim : {0, 1, 3, 4}) even = even && (x.size(dim) == 1 || x.stride(dim) % 4 == 0);
  return even;
}

bool lanes_can_load_fours(const Tensor& x) {
  return vector_width_of(x, x.size(1)) == 4 && (x.size(0) == 1 || x.stride(0) % 4 == 0);
}

std::int64_t vector_width_of(const Tensor& x, std::int64_t columns) {
  const auto bytes = 4 * static_cast<std::size_t>(x.element_size());
  return columns % 4 == 0 && reinterpret_cast<std::uintptr_t>(x.data_ptr()) % bytes == 0 ? 4 : 1;
}

Tensor dense_columns(const Tensor& x) { return x.size(1) <= 1 || x.stride(1) == 1 ? x : x.contiguous(); }

}  // namespace lanista::device
