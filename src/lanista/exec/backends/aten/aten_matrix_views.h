#pragma once

#include "lanista/exec/backends/aten/aten_shapes.h"
#include "lanista/exec/backends/aten/aten_table.h"

// Views of values and weights as the matrices of a product.
namespace lanista::device {

/// Returns x [lanes, .., c] as [lanes, rows, c]; all dimensions between the first and the last become rows.
Tensor rows(const Tensor& x);

/// Returns the inverse of `rows`: y [lanes, rows, c] with the dimensions of `like` between the first and the last.
Tensor unrolled(const Tensor& y, const Tensor& like);

/// Returns y [lanes, n, oh, ow, c] as [lanes groups, n oh ow, c/groups].
Tensor by_group(const Tensor& y, std::int64_t groups);

/// Returns the inverse of `by_group`: [lanes groups, n h w, c/groups] as [lanes, n, h, w, c].
Tensor from_groups(const Tensor& y, std::int64_t lanes, std::int64_t groups, std::int64_t n, std::int64_t h,
                   std::int64_t w);

/// Returns convolution weights [lanes, co, ci/groups, kh, kw] as [lanes groups, kh kw ci/groups, co/groups].
Tensor weights_of(const Tensor& weight, const Conv& s);

/// Returns the weights of the data gradient, with flipped windows and swapped channels: [lanes groups, kh kw co/groups,
/// ci/groups].
Tensor turned_weights_of(const Tensor& weight, const Conv& s);

}  // namespace lanista::device
