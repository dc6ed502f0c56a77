// Products by tile kernels, and the choice of the tile.
#include "lanista/exec/backends/aten/lane_products.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <string>

#include "lanista/exec/backends/aten/operand_rounding.h"

namespace lanista::device {
namespace {

// Multiprocessors of the GPU that the costs were measured on. On other GPUs the numbers are the same, but a tile may be
// slower than the best.
constexpr std::int64_t kMultiprocessors = 132;

struct TileShape {
  const char* kernel;
  std::int64_t rows, columns;
  int threads, most_warps;   // threads per block; most warps of a multiprocessor by register use
  double speed;              // measured relative speed of multiplications
  bool of_doubles = true;    // doubles fit into the registers of a thread
  bool any_strides = false;  // accepts a right matrix with any strides
};
constexpr std::array<TileShape, 7> kTileShapes{{{"product_128x128", 128, 128, 256, 8, 1.05, false},
                                                {"product_128x64", 128, 64, 256, 16, 0.98},
                                                {"product_64x128", 64, 128, 128, 12, 0.93, false},
                                                {"product_64x64", 64, 64, 128, 16, 1.0, true, true},
                                                {"product_32x64", 32, 64, 128, 16, 0.8},
                                                {"product_32x32", 32, 32, 64, 16, 0.72, true, true},
                                                {"product_32x16", 32, 16, 32, 12, 0.5}}};

std::int64_t tiles_of(const TileShape& tile_shape, std::int64_t batch, std::int64_t m, std::int64_t n) {
  return batch * ((m + tile_shape.rows - 1) / tile_shape.rows) * ((n + tile_shape.columns - 1) / tile_shape.columns);
}

// Relative time of the busiest multiprocessor. It is longer with fewer warps. With an epilogue, other warps must
// compute sums while one block stores its results.
double cost_of(const TileShape& tile_shape, std::int64_t batch, std::int64_t m, std::int64_t n, bool ends) {
  const double wanted = ends ? 16 : 8;  // warps that keep a multiprocessor busy
  const std::int64_t tiles = tiles_of(tile_shape, batch, m, n), own = (tiles + kMultiprocessors - 1) / kMultiprocessors;
  const double warps =
      static_cast<double>(std::min<std::int64_t>(own * tile_shape.threads / 32, tile_shape.most_warps));
  return static_cast<double>(own * tile_shape.rows * tile_shape.columns) / tile_shape.speed /
         std::min(1.0, warps / wanted);
}

const TileShape& tile_shape_for(bool doubles, bool any_strides, std::int64_t batch, std::int64_t m, std::int64_t n,
                                bool ends, std::string_view asked) {
  const TileShape* best = nullptr;
  double least = std::numeric_limits<double>::infinity();
  for (const TileShape& tile_shape : kTileShapes) {
    if ((doubles && !tile_shape.of_doubles) || (any_strides && !tile_shape.any_strides)) continue;
    // A requested tile is used if it supports the product; otherwise the best one is.
    if (asked == tile_shape.kernel) return tile_shape;
    const double cost = cost_of(tile_shape, batch, m, n, ends);
    if (cost < least) least = cost, best = &tile_shape;
  }
  return *best;
}

constexpr std::int64_t kLong = 256;  // terms, for which the epilogue costs little

// Few multiprocessors would work, each for a long time. The library splits such sums.
bool is_long_and_narrow(std::int64_t tiles, std::int64_t k) { return tiles < kMultiprocessors / 2 && k >= 512; }

// x as [outer, inner, rows, columns].
Tensor with_two_batches(const Tensor& x) { return x.dim() == 3 ? x.unsqueeze(1) : x; }

lane::Matrices matrices_of(const Tensor& x) { return {x.stride(0), x.stride(1), x.stride(2), x.stride(3)}; }

// Returns true if elements along a dimension are contiguous and may be read in fours at any offset.
bool in_fours(const Tensor& x, int along) {
  bool even = x.stride(along) == 1 && vector_width_of(x, x.size(along)) == 4;
  for (int dim = 0; dim < 4; ++dim) even = even && (dim == along || x.size(dim) == 1 || x.stride(dim) % 4 == 0);
  return even;
}

// Suffix of the kernel for the layouts of both sides: n is rows of contiguous elements, t is transposed, a is any
// strides.
std::string_view layout_suffix_of(const Tensor& left, const Tensor& right) {
  const bool left_terms = in_fours(left, 3), left_rows = in_fours(left, 2);
  const bool right_terms = in_fours(right, 2), right_columns = in_fours(right, 3);
  if (left_terms && right_columns) return "_nn";
  if (left_terms && right_terms) return "_nt";
  if (left_rows && right_columns) return "_tn";
  return left_terms ? "_na" : left_rows ? "_ta" : "_aa";
}

// Returns true if rows of n parameters and their slots may be read in fours.
bool in_fours(const lane::UpdateTarget& to, std::int64_t n, at::ScalarType type) {
  const auto four = static_cast<std::uintptr_t>(4 * at::elementSize(type));
  const auto begins_well = [four](const void* at) { return reinterpret_cast<std::uintptr_t>(at) % four == 0; };
  return n % 4 == 0 && to.lane % 4 == 0 && begins_well(to.parameters) && begins_well(to.slots[0]) &&
         begins_well(to.slots[1]);
}

// Kernels use 32-bit offsets within a matrix.
bool is_small(const Tensor& x) {
  return x.size(2) * x.stride(2) + x.size(3) * x.stride(3) < std::numeric_limits<std::int32_t>::max();
}

}  // namespace

LaneProducts::LaneProducts(const LaneKernels& kernels, const OperandRounding& operand_rounding)
    : kernels_(&kernels), uses_lane_kernels_(!operand_rounding.rounds_operands()) {}

LaneProducts LaneProducts::with_tile(std::string_view kernel) const {
  LaneProducts other = *this;
  other.tile_ = kernel;
  return other;
}

std::vector<std::string> LaneProducts::tiles(at::ScalarType type) {
  std::vector<std::string> all;
  for (const TileShape& tile_shape : kTileShapes) {
    if (type != at::kDouble || tile_shape.of_doubles) all.emplace_back(tile_shape.kernel);
  }
  return all;
}

ProductResult LaneProducts::operator()(const Tensor& left, const Tensor& right, const ProductEpilogue& end) const {
  const Tensor l = with_two_batches(left), r = with_two_batches(right);
  const std::int64_t batch = l.size(0) * l.size(1), m = l.size(2), k = l.size(3), n = r.size(3);
  const std::string_view layouts = layout_suffix_of(l, r);
  const TileShape& tile_shape =
      tile_shape_for(l.scalar_type() == at::kDouble, layouts.back() == 'a', batch, m, n,
                     k < kLong && (end.activation.of != lane::kNoActivation || end.other.defined()), tile_);
  const std::int64_t tiles = tiles_of(tile_shape, batch, m, n);
  const bool left_alone = tile_.empty() && is_long_and_narrow(tiles, k);
  if (!uses_lane_kernels_ || k == 0 || left_alone || !is_small(l) || !is_small(r)) {
    return multiply_with_library(left, right, end);
  }
  std::vector<std::int64_t> sizes = left.sizes().vec();
  sizes.back() = n;
  ProductResult out;
  const bool updates_parameters =
      end.fused_update != nullptr && layouts == "_tn" && in_fours(end.fused_update->to, n, l.scalar_type());
  if (!updates_parameters) out.y = end.destination.defined() ? end.destination : at::empty(sizes, l.options());
  const Tensor y = updates_parameters ? Tensor() : with_two_batches(out.y);
  if (end.activated) out.activated = at::empty(sizes, l.options());
  if (end.column_sums) out.column_sums = at::empty({batch, n}, l.options());
  const Tensor bias = end.bias.defined() ? dense_columns(end.bias) : Tensor();
  const Tensor pre_activation = end.pre_activation.defined() ? end.pre_activation.contiguous() : Tensor();
  const Tensor other = end.other.defined() ? end.other.contiguous() : Tensor();
  const auto memory = [](const Tensor& x) { return x.defined() ? x.data_ptr() : nullptr; };
  // A contiguous tensor may still begin at any address.
  const auto begins_well = [n](const Tensor& x) { return !x.defined() || vector_width_of(x, n) == 4; };
  const std::string kernel = tile_shape.kernel + std::string(layouts);
  kernels_->run_tiles(
      kernel.c_str(), l.scalar_type(), tiles, tile_shape.threads,
      lane::Product{.left = l.data_ptr(),
                    .right = r.data_ptr(),
                    .bias = memory(bias),
                    .other = memory(other),
                    .pre_activation = memory(pre_activation),
                    .y = memory(out.y),
                    .activated = memory(out.activated),
                    .column_sums = memory(out.column_sums),
                    .left_at = matrices_of(l),
                    .right_at = matrices_of(r),
                    .y_at = updates_parameters ? lane::Matrices{} : matrices_of(y),
                    .inner = l.size(1),
                    .m = m,
                    .n = n,
                    .k = k,
                    .bias_outer = bias.defined() ? bias.stride(0) : 0,
                    .y_can_load_fours = updates_parameters || (in_fours(y, 3) && begins_well(out.activated) &&
                                                               begins_well(pre_activation) && begins_well(other)),
                    .bias_can_load_fours = !bias.defined() || (begins_well(bias) && bias.stride(0) % 4 == 0),
                    .scale = end.scale,
                    .a = end.activation.a,
                    .b = end.activation.b,
                    .activation = end.activation.of,
                    .to = updates_parameters ? end.fused_update->to : lane::UpdateTarget{},
                    .fused_update = updates_parameters ? end.fused_update->by : lane::kNoUpdate});
  return out;
}

ProductResult LaneProducts::multiply_with_library(const Tensor& left, const Tensor& right,
                                                  const ProductEpilogue& end) const {
  const auto matrices = [](const Tensor& x) { return x.reshape({-1, x.size(-2), x.size(-1)}); };
  const Tensor r = matrices(right);
  std::vector<std::int64_t> sizes = left.sizes().vec();
  sizes.back() = r.size(2);
  ProductResult out{.y = at::bmm(matrices(left), r), .activated = {}, .column_sums = {}};
  if (end.scale != 1) out.y = out.y * end.scale;
  if (end.bias.defined()) lane_add_columns(*kernels_, out.y, end.bias);
  out.y = out.y.reshape(sizes);
  if (end.other.defined()) out.y = out.y + end.other;
  const LaneActivation& activation = end.activation;
  if (activation.of != lane::kNoActivation && end.pre_activation.defined()) {
    const std::string gradient = activation.name() + std::string("_grad");
    out.y = lane_elementwise(*kernels_, gradient.c_str(), end.pre_activation.contiguous(), out.y, activation.a,
                             activation.b);
  }
  if (end.activated) {
    out.activated = activation.of == lane::kNoActivation
                        ? out.y
                        : lane_elementwise(*kernels_, activation.name(), out.y, {}, activation.a, activation.b);
  }
  if (end.column_sums) out.column_sums = lane_column_sum(*kernels_, r);
  if (end.destination.defined()) out.y = Tensor(end.destination).copy_(out.y);
  return out;
}

}  // namespace lanista::device
