#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "lanista/model/graph/shape.h"
#include "lanista/exec/kernels/kernels.h"

namespace lanista::nn {

/// How a value with logical (PyTorch) dimensions lies in memory.
enum class Layout : std::uint8_t {
  kPlain,         ///< row-major in logical order
  kImage,         ///< [N, C, H, W] as [n][h][w][c]
  kLinearWeight,  ///< [out, in] as [in][out]
  kConvWeight,    ///< [co, ci/groups, kh, kw] as [kh][kw][ci/groups][co]; rank 3 has no kh
  kMap,           ///< [C, H, W] of a whole image as [h][w][c]
};
std::string_view layout_name(Layout layout);

/// The layout of activations: rank 4 with a batch is an image.
Layout value_layout(const graph::Shape& shape);

/// Logical axis at every memory position, e.g. {0, 2, 3, 1} for an image.
std::vector<std::size_t> memory_axes(Layout layout, std::size_t rank);

/// Elements of a value as a function of the actual batch size.
struct ElementCount {
  std::int64_t per_sample = 1;
  bool batched = true;
  ElementCount() = default;
  explicit ElementCount(const graph::Shape& shape);
  std::int64_t at(std::int64_t n) const { return batched ? per_sample * n : per_sample; }
};

/// A run of neighbouring memory axes, seen as kernels see it; `outer` counts one sample if the value has a batch.
struct AxisView {
  std::int64_t outer = 1, len = 1, inner = 1;
  bool batched = true;
  kernels::AxisShape at(std::int64_t n) const { return {batched ? outer * n : outer, len, inner}; }
};
/// Logical axis `axis` (not the batch) of a value in `layout`.
AxisView axis_view(const graph::Shape& shape, Layout layout, std::size_t axis);

/// A copy that changes the order of axes; the batch, if there is one, stays in front.
class Reorder {
 public:
  Reorder() = default;
  /// `dims` are sizes of axes; `from` and `to` list the axes in memory order of source and result.
  Reorder(const std::vector<std::int64_t>& dims, const std::vector<std::size_t>& from,
          const std::vector<std::size_t>& to);

  /// From row-major logical order into `layout`, and back.
  static Reorder to_layout(const graph::Shape& shape, Layout layout);
  static Reorder from_layout(const graph::Shape& shape, Layout layout);

  /// True if source and result are the same bytes.
  bool is_identity() const { return rank_ <= 1 && strides_[0] == 1; }
  std::int64_t elements(std::int64_t n) const { return batched_ ? per_sample_ * n : per_sample_; }
  bool batched() const { return batched_; }
  // Axes without the batch, in the result's order: how long each is, and its steps in the source.
  std::span<const std::int64_t> sizes() const { return {sizes_.data(), rank_}; }
  std::span<const std::int64_t> strides() const { return {strides_.data(), rank_}; }

  template <class T>
  void apply(const kernels::Kernels<T>& k, std::int64_t n, const T* x, T* y) const;

  /// Reads element types other than the program's own (batches, results); also for trivial orders.
  template <class From, class To>
  void convert(std::int64_t n, const From* x, To* y) const;

 private:
  static constexpr std::size_t kMaxRank = 7;
  bool batched_ = false;
  std::int64_t per_sample_ = 1;
  std::size_t rank_ = 0;                           // without the batch; equal neighbours merged
  std::array<std::int64_t, kMaxRank> sizes_{1};    // in the result's order
  std::array<std::int64_t, kMaxRank> strides_{1};  // of the source
};

template <class From, class To>
void Reorder::convert(std::int64_t n, const From* x, To* y) const {
  const std::int64_t samples = batched_ ? n : 1;
  std::array<std::int64_t, kMaxRank> at{};
  for (std::int64_t s = 0; s < samples; ++s) {
    const From* source = x + s * per_sample_;
    for (std::int64_t e = 0; e < per_sample_; ++e) {
      *y++ = static_cast<To>(*source);
      // An odometer over the result's axes, carrying the source pointer along.
      for (std::size_t axis = rank_; axis-- > 0;) {
        source += strides_[axis];
        if (++at[axis] < sizes_[axis]) break;
        source -= strides_[axis] * sizes_[axis];
        at[axis] = 0;
      }
    }
  }
}

}  // namespace lanista::nn
