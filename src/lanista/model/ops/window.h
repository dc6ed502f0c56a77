#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/model/graph/op.h"

// Geometry of convolutions and pooling, shared by forward operators and by those that compute their gradients.
namespace lanista::graph::ops {

/// One spatial extent of a sliding window. `ceil`: a last window that reaches beyond the padding counts, if it starts
/// inside it.
struct Window {
  std::int64_t kernel, stride, before, after, dilation;
  bool ceil = false;
};

/// floor or ceil((size + before + after - dilation (kernel - 1) - 1) / stride) + 1; of the windows that ceil adds, as
/// in PyTorch, none begins behind the image. Errors: below 1, with the numbers.
Result<std::int64_t> window_output(std::int64_t size, const Window& window);

/// Cells around an image.
struct Pads {
  std::int64_t top, bottom, left, right;
  bool operator==(const Pads&) const = default;
};

/// What the attribute `padding` says: [all], [rows, columns] or [top, bottom, left, right].
Pads pads_of(const OpArgs& args);

/// Everything about a convolution but the batch.
struct ConvDims {
  std::int64_t in, h, w, out, oh, ow, kh, kw, groups;

  Shape input() const { return {{kBatch, in, h, w}}; }
  Shape output() const { return {{kBatch, out, oh, ow}}; }
  Shape weight() const { return {{out, in / groups, kh, kw}}; }
  std::int64_t fan_in() const { return in / groups * kh * kw; }
  double flops() const;  ///< 2 a multiply-add, padding included
};

/// Attributes kernel, stride, padding, dilation.
std::vector<AttrSpec> window_attrs();
/// conv_dims of the image [C, H, W] with `out` channels in `groups` groups, windows as the attributes say.
/// Errors: lists of a wrong length, groups that do not divide the channels, windows that do not fit.
Result<ConvDims> conv_dims(const OpArgs& args, const std::vector<std::int64_t>& image, std::int64_t out,
                           std::int64_t groups);

/// Everything about a pooling but the batch.
struct PoolDims {
  std::int64_t c, h, w, oh, ow, kh, kw;

  Shape input() const { return {{kBatch, c, h, w}}; }
  Shape output() const { return {{kBatch, c, oh, ow}}; }
};

/// Attributes kernel, stride, padding, ceil_mode.
std::vector<AttrSpec> pool_attrs();
/// The step of a pooling's windows; an empty stride means: as the kernel.
std::pair<std::int64_t, std::int64_t> pool_stride(const OpArgs& args);
/// Pooling of the image [C, H, W]. Errors: as conv_dims; padding above half the kernel, where a window could see
/// nothing but padding.
Result<PoolDims> pool_dims(const OpArgs& args, const std::vector<std::int64_t>& image);

/// The convolution whose input gradient a transposed convolution computes: its input is the result [out, H', W'], its
/// output the image [C, H, W] of data input 0. Errors: as conv_dims; an output padding that is no smaller than the
/// stride, where nothing would be written.
Result<ConvDims> transposed_dims(const OpArgs& args);

/// Errors: the list attribute `name` has not one or two elements (or zero, where `may_be_empty`).
Result<void> require_pair(const OpArgs& args, std::string_view name, bool may_be_empty = false);

}  // namespace lanista::graph::ops
