#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/graph/op.h"

// Geometry of convolutions and pooling, shared by forward operators and by those that compute their gradients.
namespace lanista::graph::ops {

/// One spatial extent of a sliding window.
struct Window {
  std::int64_t kernel, stride, padding, dilation;
};

/// floor((size + 2 padding - dilation (kernel - 1) - 1) / stride) + 1. Errors: below 1, with the numbers.
Result<std::int64_t> window_output(std::int64_t size, const Window& window);

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

/// Attributes kernel, stride, padding.
std::vector<AttrSpec> pool_attrs();
/// Pooling of the image [C, H, W]. Errors: as conv_dims; padding above half the kernel, where a window could see
/// nothing but padding.
Result<PoolDims> pool_dims(const OpArgs& args, const std::vector<std::int64_t>& image);

/// Errors: the list attribute `name` has not one or two elements (or zero, where `may_be_empty`).
Result<void> want_pair(const OpArgs& args, std::string_view name, bool may_be_empty = false);

}  // namespace lanista::graph::ops
