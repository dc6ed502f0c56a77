#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "lanista/exec/kernels/kernels.h"
#include "lanista/model/graph/shape.h"

namespace lanista::program {

/// The order of axes in memory of a value with logical (PyTorch) dimensions.
enum class Layout : std::uint8_t {
  kPlain,         ///< Row-major in logical order.
  kImage,         ///< Image [N, C, H, W] as [n][h][w][c].
  kLinearWeight,  ///< Matrix [out, in] as [in][out].
  kConvWeight,    ///< Kernel [co, ci/groups, kh, kw] as [kh][kw][ci/groups][co]; rank 3 has no kh.
  kMap,           ///< Whole image [C, H, W] as [h][w][c].
};
/// The short name of a layout, as plans print it: "plain", "nhwc", "in_out", "khwio" or "hwc".
std::string_view layout_name(Layout layout);

/// The layout of an intermediate value: kImage for rank 4 with a batch axis, else kPlain.
Layout value_layout(const graph::Shape& shape);

/// The logical axis at each memory position, slowest first, e.g. {0, 2, 3, 1} for an image.
std::vector<std::size_t> memory_axes(Layout layout, std::size_t rank);

/// The number of elements of a value as a function of the batch size.
struct ElementCount {
  std::int64_t per_sample = 1;  ///< Elements of one sample, or of the value if it has no batch axis.
  bool batched = true;          ///< True: the value has a batch axis.
  ElementCount() = default;
  explicit ElementCount(const graph::Shape& shape);
  /// Elements of the value for a batch of n samples.
  std::int64_t at(std::int64_t n) const { return batched ? per_sample * n : per_sample; }
};

/// A value in memory as [outer][len][inner], where `len` is the size of one axis. With a batch axis, `outer` is that of
/// one sample.
struct AxisView {
  std::int64_t outer = 1, len = 1, inner = 1;  ///< Numbers of elements.
  bool batched = true;                         ///< True: the value has a batch axis, which multiplies `outer`.
  /// The sizes for a batch of n samples: `outer` is multiplied by n if the value has a batch axis.
  kernels::AxisShape at(std::int64_t n) const { return {batched ? outer * n : outer, len, inner}; }
};
/// The view of a value in `layout` along logical axis `axis`, which must not be the batch axis.
AxisView axis_view(const graph::Shape& shape, Layout layout, std::size_t axis);

/// A prepared copy of a value that changes the order of its axes. The batch axis, if there is one, stays first.
class Reorder {
 public:
  Reorder() = default;
  /// `dims` are the sizes of all axes, graph::kBatch for the batch axis. `from` and `to` list the copied axes in memory
  /// order of source and result.
  Reorder(const std::vector<std::int64_t>& dims, const std::vector<std::size_t>& from,
          const std::vector<std::size_t>& to);

  /// The copy from row-major logical order into `layout`.
  static Reorder to_layout(const graph::Shape& shape, Layout layout);
  /// The copy from `layout` into row-major logical order.
  static Reorder from_layout(const graph::Shape& shape, Layout layout);

  /// True: the copy changes no byte.
  bool is_identity() const { return rank_ <= 1 && strides_[0] == 1; }
  /// Elements that are copied for a batch of n samples.
  std::int64_t elements(std::int64_t n) const { return batched_ ? per_sample_ * n : per_sample_; }
  /// True: the value has a batch axis.
  bool batched() const { return batched_; }
  /// Sizes of the axes without the batch axis, in the result's order; neighbours are merged where possible.
  std::span<const std::int64_t> sizes() const { return {sizes_.data(), rank_}; }
  /// Strides in the source of the axes of sizes(), in elements, in the same order.
  std::span<const std::int64_t> strides() const { return {strides_.data(), rank_}; }

  /// Copies `x` to `y` for a batch of n samples, with the permute kernel of `k`. The arrays must not overlap.
  template <class T>
  void apply(const kernels::Kernels<T>& k, std::int64_t n, const T* x, T* y) const;

  /// Copies `x` to `y` and converts the element type, for batches and results. Works for identity orders too.
  template <class From, class To>
  void convert(std::int64_t n, const From* x, To* y) const;

 private:
  static constexpr std::size_t kMaxRank = 7;
  bool batched_ = false;
  std::int64_t per_sample_ = 1;
  std::size_t rank_ = 0;                           // without the batch; mergeable neighbours are merged
  std::array<std::int64_t, kMaxRank> sizes_{1};    // in the result's order
  std::array<std::int64_t, kMaxRank> strides_{1};  // in the source
};

/// Reorder::convert is defined here, because callers choose the types.
template <class From, class To>
void Reorder::convert(std::int64_t n, const From* x, To* y) const {
  const std::int64_t samples = batched_ ? n : 1;
  std::array<std::int64_t, kMaxRank> at{};
  for (std::int64_t s = 0; s < samples; ++s) {
    const From* source = x + s * per_sample_;
    for (std::int64_t e = 0; e < per_sample_; ++e) {
      *y++ = static_cast<To>(*source);
      // An index over the result's axes, with the source pointer moved along.
      for (std::size_t axis = rank_; axis-- > 0;) {
        source += strides_[axis];
        if (++at[axis] < sizes_[axis]) break;
        source -= strides_[axis] * sizes_[axis];
        at[axis] = 0;
      }
    }
  }
}

}  // namespace lanista::program
