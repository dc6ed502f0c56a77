#pragma once

#include "lanista/exec/backends/aten/aten_shapes.h"
#include "lanista/exec/backends/aten/aten_table.h"

// How values and weights lie where a product takes them, whoever lays out windows.
namespace lanista::device {

/// All dimensions between the lanes and the last are rows.
Tensor rows(const Tensor& x);
/// The rows back as they stood in `like`.
Tensor unrolled(const Tensor& y, const Tensor& like);
/// [lanes, n, oh, ow, c] as [lanes groups, n oh ow, c/groups].
Tensor by_group(const Tensor& y, std::int64_t groups);
/// And back.
Tensor from_groups(const Tensor& y, std::int64_t lanes, std::int64_t groups, std::int64_t n, std::int64_t h,
                   std::int64_t w);
/// [lanes, co, ci/groups, kh, kw] as [lanes groups, kh kw ci/groups, co/groups].
Tensor weights_of(const Tensor& weight, const Conv& s);
/// The same convolution the other way round: windows turned, channels changed places.
Tensor turned_weights_of(const Tensor& weight, const Conv& s);

}  // namespace lanista::device
