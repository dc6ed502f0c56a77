#include "lanista/exec/backends/aten/aten_matrix_views.h"

namespace lanista::device {

Tensor rows(const Tensor& x) { return x.reshape({x.size(0), -1, x.size(-1)}); }

Tensor unrolled(const Tensor& y, const Tensor& like) {
  std::vector<std::int64_t> sizes = like.sizes().vec();
  sizes.back() = y.size(-1);
  return y.reshape(sizes);
}

Tensor by_group(const Tensor& y, std::int64_t groups) {
  const std::int64_t lanes = y.size(0), c = y.size(4);
  return y.reshape({lanes, -1, groups, c / groups}).transpose(1, 2).reshape({lanes * groups, -1, c / groups});
}

Tensor from_groups(const Tensor& y, std::int64_t lanes, std::int64_t groups, std::int64_t n, std::int64_t h,
                   std::int64_t w) {
  return y.reshape({lanes, groups, n * h * w, -1}).transpose(1, 2).reshape({lanes, n, h, w, -1});
}

Tensor weights_of(const Tensor& weight, const Conv& s) {
  return weight.permute({0, 3, 4, 2, 1})
      .reshape({weight.size(0), s.kh * s.kw * s.ci / s.groups, s.groups, s.co / s.groups})
      .transpose(1, 2)
      .reshape({weight.size(0) * s.groups, -1, s.co / s.groups});
}

Tensor turned_weights_of(const Tensor& weight, const Conv& s) {
  const std::int64_t lanes = weight.size(0);
  return (s.kh == 1 && s.kw == 1 ? weight : weight.flip({3, 4}))
      .reshape({lanes, s.groups, s.co / s.groups, s.ci / s.groups, s.kh, s.kw})
      .permute({0, 1, 4, 5, 2, 3})
      .reshape({lanes * s.groups, s.kh * s.kw * s.co / s.groups, s.ci / s.groups});
}

}  // namespace lanista::device
