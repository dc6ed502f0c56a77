#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/model/graph/op.h"

// Geometry of convolutions and pooling, for forward operators and their gradients.
namespace lanista::graph::ops {

/// A sliding window along one axis of an image, with sizes in pixels.
struct Window {
  std::int64_t kernel;    ///< pixels of one window
  std::int64_t stride;    ///< distance between windows
  std::int64_t before;    ///< padding before the first pixel
  std::int64_t after;     ///< padding after the last pixel
  std::int64_t dilation;  ///< distance between pixels of a window
  bool ceil = false;      ///< true: counts a last window that extends past the padding
};

/// The number of windows along an axis of `size` pixels, which is the output size.
///
/// It is floor((size + before + after - dilation (kernel - 1) - 1) / stride) + 1. With `ceil`, a last window that
/// extends past the padding counts too if it starts inside the image or the padding before it, as in PyTorch.
/// Errors: kInvalidArgument if no window fits, with the sizes.
Result<std::int64_t> window_output(std::int64_t size, const Window& window);

/// Padding on each side of an image, in pixels.
struct Pads {
  std::int64_t top, bottom, left, right;  ///< rows above and below, columns before and after
  bool operator==(const Pads&) const = default;
};

/// Reads the attribute `padding`, which is [all], [rows, columns] or [top, bottom, left, right]. Other lengths are a
/// bug of the caller.
Pads pads_of(const OpArgs& args);

/// The sizes of a convolution, without the batch: channels, and heights and widths in pixels.
struct ConvDims {
  std::int64_t in;      ///< input channels
  std::int64_t h, w;    ///< input height and width
  std::int64_t out;     ///< output channels
  std::int64_t oh, ow;  ///< output height and width
  std::int64_t kh, kw;  ///< kernel height and width
  std::int64_t groups;  ///< number of groups of channels; 1: a dense convolution

  /// The input shape [N, in, h, w], with kBatch for N.
  Shape input() const { return {{kBatch, in, h, w}}; }
  /// The output shape [N, out, oh, ow], with kBatch for N.
  Shape output() const { return {{kBatch, out, oh, ow}}; }
  /// The weight shape [out, in / groups, kh, kw].
  Shape weight() const { return {{out, in / groups, kh, kw}}; }
  /// The number of input elements of one output element.
  std::int64_t fan_in() const { return in / groups * kh * kw; }
  /// FLOPs of the forward pass for one sample: two for each multiply-add, products with padding included.
  double flops() const;
};

/// Defines the attributes kernel, stride, padding and dilation of convolutions.
std::vector<AttrSpec> window_attrs();
/// The sizes of a convolution of an image [C, H, W] to `out` channels in `groups` groups. Kernel, stride, padding and
/// dilation are the attributes of window_attrs() in `args`.
/// Errors: kInvalidArgument for an image without three dimensions, a list attribute of a wrong length or with a number
/// above 2^20, groups that do not divide the channels, or a window that does not fit.
Result<ConvDims> conv_dims(const OpArgs& args, const std::vector<std::int64_t>& image, std::int64_t out,
                           std::int64_t groups);

/// The sizes of a pooling, without the batch: channels, and heights and widths in pixels.
struct PoolDims {
  std::int64_t c;       ///< channels
  std::int64_t h, w;    ///< input height and width
  std::int64_t oh, ow;  ///< output height and width
  std::int64_t kh, kw;  ///< kernel height and width

  /// The input shape [N, c, h, w], with kBatch for N.
  Shape input() const { return {{kBatch, c, h, w}}; }
  /// The output shape [N, c, oh, ow], with kBatch for N.
  Shape output() const { return {{kBatch, c, oh, ow}}; }
};

/// Defines the attributes kernel, stride, padding and ceil_mode of poolings of images and their gradients.
std::vector<AttrSpec> pool_attrs();
/// Defines the pooling of sequences [N, C, L] that decomposes to `pool`, a pooling of images with pool_attrs() first.
OpDef pool1d_op(std::string name, std::string help, const OpDef& pool);
/// The {vertical, horizontal} stride of a pooling, in pixels. An empty attribute means the size of the kernel.
std::pair<std::int64_t, std::int64_t> pool_stride(const OpArgs& args);
/// The channels, and the sizes of input, output and kernel, of a pooling of an image [C, H, W]. pool_stride() gives the
/// stride. Errors: kInvalidArgument for an image
/// without three dimensions, a list attribute of a wrong length or with a number above 2^20, or a window that does not
/// fit. Also for padding above half the kernel, because a window could then cover padding alone.
Result<PoolDims> pool_dims(const OpArgs& args, const std::vector<std::int64_t>& image);

/// The sizes of the convolution of which the input gradient is the result of a transposed convolution with `args`.
///
/// The input of that convolution is the result [out, H', W'], and its output is the image [C, H, W] of data input 0.
/// Errors: kInvalidArgument as in `conv_dims`, if the padding leaves no pixel of the result, or for an output padding
/// of at least the stride, because no product would reach the last pixels.
Result<ConvDims> transposed_dims(const OpArgs& args);

/// Checks that the list attribute `name` has one or two elements, or none if `may_be_empty` is true.
/// Errors: kInvalidArgument with the number of elements.
Result<void> require_pair(const OpArgs& args, std::string_view name, bool may_be_empty = false);

}  // namespace lanista::graph::ops
