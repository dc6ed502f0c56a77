#pragma once

#include <algorithm>
#include <cstdint>

#include "lanista/model/graph/op.h"
#include "lanista/model/ops/window.h"

// Sizes of convolutions and pools. They are fixed before any call runs.
namespace lanista::device {

/// Sizes of a two-dimensional convolution, without the batch.
struct Conv {
  std::int64_t h, w, ci, oh, ow, co, kh, kw, groups;        ///< sizes of input, output and window; channel groups
  std::int64_t stride_h, stride_w, dilation_h, dilation_w;  ///< in cells of the input
  graph::ops::Pads pads;                                    ///< padding in cells
};

/// Returns the sizes of the convolution with these attributes and the shapes of input, weights and output.
inline Conv conv_of(const graph::OpArgs& args, const graph::Shape& x, const graph::Shape& w, const graph::Shape& y) {
  const auto stride = args.pair("stride"), dilation = args.pair("dilation");
  return {.h = x.dims[2],
          .w = x.dims[3],
          .ci = x.dims[1],
          .oh = y.dims[2],
          .ow = y.dims[3],
          .co = y.dims[1],
          .kh = w.dims[2],
          .kw = w.dims[3],
          .groups = args.integer("groups"),
          .stride_h = stride.first,
          .stride_w = stride.second,
          .dilation_h = dilation.first,
          .dilation_w = dilation.second,
          .pads = graph::ops::pads_of(args)};
}

/// Sizes of a two-dimensional pool, without batch and channels.
struct Pool {
  std::int64_t h, w, oh, ow, kh, kw, stride_h, stride_w;  ///< input, output, window and stride, in cells
  graph::ops::Pads pads;                                  ///< padding in cells

  /// Returns the rows of zeros below the image that the last window needs. Ceil mode may need more than the padding.
  std::int64_t below() const { return std::max<std::int64_t>(0, (oh - 1) * stride_h + kh - pads.top - h); }
  /// Returns the columns of zeros on the right that the last window needs.
  std::int64_t right() const { return std::max<std::int64_t>(0, (ow - 1) * stride_w + kw - pads.left - w); }
};

/// Returns the sizes of the pool with these attributes. `x` is the larger image, `y` the pooled one.
inline Pool pool_of(const graph::OpArgs& args, const graph::Shape& x, const graph::Shape& y) {
  const auto kernel = args.pair("kernel");
  const auto stride = graph::ops::pool_stride(args);
  return {.h = x.dims[2],
          .w = x.dims[3],
          .oh = y.dims[2],
          .ow = y.dims[3],
          .kh = kernel.first,
          .kw = kernel.second,
          .stride_h = stride.first,
          .stride_w = stride.second,
          .pads = graph::ops::pads_of(args)};
}

}  // namespace lanista::device
