// Window pools, adaptive pools, and image resizing. Window pools process one cell of all windows at a time. Adaptive
// pools and resizing are products with two fixed matrices; the transposed matrices give the gradient.
#include <algorithm>
#include <limits>
#include <memory>
#include <tuple>

#include "lanista/exec/backends/aten/aten_shapes.h"
#include "lanista/exec/backends/aten/aten_table.h"

namespace lanista::device {
namespace {

constexpr std::int64_t kNone = 255;  // index of an empty window

Tensor framed(const Tensor& x, const Pool& s, double value) {
  return at::constant_pad_nd(x, {s.pads.left, s.right(), s.pads.top, s.below()}, value);
}

// Cell (i, j) of every window.
Tensor cell_of(const Tensor& framed, const Pool& s, std::int64_t i, std::int64_t j) {
  return framed.slice(3, i, i + (s.oh - 1) * s.stride_h + 1, s.stride_h)
      .slice(4, j, j + (s.ow - 1) * s.stride_w + 1, s.stride_w);
}

template <class F>
void for_cells(const Pool& s, F f) {
  for (std::int64_t i = 0; i < s.kh; ++i) {
    for (std::int64_t j = 0; j < s.kw; ++j) f(i, j);
  }
}

// [1, 1, 1, oh, ow]: `f` of the first row and column of every window.
template <class F>
Tensor of_windows(const Pool& s, const at::TensorOptions& real, F f) {
  std::vector<double> values;
  for (std::int64_t oh = 0; oh < s.oh; ++oh) {
    for (std::int64_t ow = 0; ow < s.ow; ++ow) {
      values.push_back(f(oh * s.stride_h - s.pads.top, ow * s.stride_w - s.pads.left));
    }
  }
  return at::tensor(values, at::kDouble).reshape({1, 1, 1, s.oh, s.ow}).to(real);
}

// Index of the first largest value, or of the last NaN. An empty window gives minus infinity and no index.
AtenRun max_pool(const AtenCall& call) {
  return [s = pool_of(call.args, call.x(), call.y()), indexed = call.out.size() > 1](const Frame& frame,
                                                                                     const Tensors& in) {
    const Tensor image = framed(in[0], s, -std::numeric_limits<double>::infinity());
    const Tensor here = framed(at::ones({1, 1, 1, s.h, s.w}, frame.real.dtype(at::kBool)), s, 0);
    Tensor best, where;
    for_cells(s, [&](std::int64_t i, std::int64_t j) {
      const Tensor v = cell_of(image, s, i, j);
      if (!best.defined()) {
        best = at::full_like(v, -std::numeric_limits<double>::infinity());
        where = at::full_like(v, kNone, v.options().dtype(at::kByte));
      }
      const Tensor takes = cell_of(here, s, i, j).logical_and((v > best).logical_or(v != v).logical_or(where == kNone));
      best = at::where(takes, v, best);
      where = at::where(takes, at::full_like(where, i * s.kw + j), where);
    });
    return indexed ? Tensors{best, where} : Tensors{best};
  };
}

// Sums over windows the values that `of` gives for each cell, and removes the padding.
template <class F>
Tensor spread(const Pool& s, const Tensor& dy, F of) {
  Tensor dx = at::zeros(
      {dy.size(0), dy.size(1), dy.size(2), s.pads.top + s.h + s.below(), s.pads.left + s.w + s.right()}, dy.options());
  for_cells(s, [&](std::int64_t i, std::int64_t j) { cell_of(dx, s, i, j).add_(of(i * s.kw + j)); });
  return dx.narrow(3, s.pads.top, s.h).narrow(4, s.pads.left, s.w);
}

AtenRun max_pool_grad(const AtenCall& call) {
  return [s = pool_of(call.args, call.y(), call.x(1))](const Frame&, const Tensors& in) {
    const Tensor none = at::zeros_like(in[1]);
    return Tensors{spread(s, in[1], [&](std::int64_t cell) { return at::where(in[0] == cell, in[1], none); })};
  };
}

// Number of cells of each window mean: those inside the image, or also those of the padding.
Tensor divisors(const Pool& s, bool padding, const at::TensorOptions& real) {
  const auto reach = [padding](std::int64_t first, std::int64_t window, std::int64_t size, std::int64_t behind) {
    const std::int64_t begin = padding ? first : std::max<std::int64_t>(first, 0);
    return std::min(first + window, size + (padding ? behind : 0)) - begin;
  };
  return of_windows(s, real, [&](std::int64_t row, std::int64_t column) {
    return static_cast<double>(
        std::max<std::int64_t>(1, reach(row, s.kh, s.h, s.pads.bottom) * reach(column, s.kw, s.w, s.pads.right)));
  });
}

AtenRun avg_pool(const AtenCall& call) {
  return [s = pool_of(call.args, call.x(), call.y()), padding = call.args.flag("count_include_pad")](
             const Frame& frame, const Tensors& in) {
    const Tensor image = framed(in[0], s, 0);
    Tensor sum;
    for_cells(s, [&](std::int64_t i, std::int64_t j) {
      const Tensor v = cell_of(image, s, i, j);
      sum = sum.defined() ? sum + v : v;
    });
    return Tensors{sum / divisors(s, padding, frame.real)};
  };
}

AtenRun avg_pool_grad(const AtenCall& call) {
  return [s = pool_of(call.args, call.y(), call.x()), padding = call.args.flag("count_include_pad")](
             const Frame& frame, const Tensors& in) {
    const Tensor share = in[0] / divisors(s, padding, frame.real);
    return Tensors{spread(s, share, [&](std::int64_t) { return share; })};
  };
}

// [to, from]: weight of each input cell in each output position of an axis.
using Axis = std::vector<std::vector<double>>;

Axis even_parts(std::int64_t from, std::int64_t to) {
  Axis axis(static_cast<std::size_t>(to), std::vector<double>(static_cast<std::size_t>(from)));
  for (std::int64_t i = 0; i < to; ++i) {
    const std::int64_t begin = i * from / to, end = ((i + 1) * from + to - 1) / to;
    for (std::int64_t j = begin; j < end; ++j) {
      axis[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)] = 1 / static_cast<double>(end - begin);
    }
  }
  return axis;
}

Axis nearest(std::int64_t from, std::int64_t to) {
  Axis axis(static_cast<std::size_t>(to), std::vector<double>(static_cast<std::size_t>(from)));
  for (std::int64_t i = 0; i < to; ++i) axis[static_cast<std::size_t>(i)][static_cast<std::size_t>(i * from / to)] = 1;
  return axis;
}

// Position i is at (i + 1/2) from / to - 1/2, between two cells.
Axis between(std::int64_t from, std::int64_t to) {
  Axis axis(static_cast<std::size_t>(to), std::vector<double>(static_cast<std::size_t>(from)));
  for (std::int64_t i = 0; i < to; ++i) {
    const std::int64_t halves = std::max<std::int64_t>(0, (2 * i + 1) * from - to), low = halves / (2 * to);
    const double part = static_cast<double>(halves % (2 * to)) / static_cast<double>(2 * to);
    auto& row = axis[static_cast<std::size_t>(i)];
    row[static_cast<std::size_t>(low)] += 1 - part;
    row[static_cast<std::size_t>(std::min(low + 1, from - 1))] += part;
  }
  return axis;
}

Tensor matrix(const Axis& axis, const at::TensorOptions& real) {
  std::vector<double> all;
  for (const auto& row : axis) all.insert(all.end(), row.begin(), row.end());
  return at::tensor(all, at::kDouble).reshape({static_cast<std::int64_t>(axis.size()), -1}).to(real);
}

// rows x columns^T for every channel, as one product per lane.
Tensor mapped(const Tensor& x, const Tensor& rows, const Tensor& columns) {
  const std::int64_t lanes = x.size(0);
  const auto right = [lanes](const Tensor& image, const Tensor& m) {
    const Tensor all = m.transpose(0, 1).unsqueeze(0).expand({lanes, m.size(1), m.size(0)});
    std::vector<std::int64_t> sizes = image.sizes().vec();
    sizes.back() = m.size(0);
    return at::bmm(image.reshape({lanes, -1, image.size(-1)}), all).reshape(sizes);
  };
  return right(right(x, columns).transpose(3, 4), rows).transpose(3, 4);
}

// `from` and `to` are the shapes of the forward operator.
AtenRun separable(Axis (*axis)(std::int64_t, std::int64_t), const graph::Shape& from, const graph::Shape& to,
                  bool backward) {
  // Computed once, because a recorded step cannot read host memory.
  return [rows = axis(from.dims[2], to.dims[2]), columns = axis(from.dims[3], to.dims[3]), backward,
          made = std::make_shared<std::pair<Tensor, Tensor>>()](const Frame& frame, const Tensors& in) {
    auto& [r, c] = *made;
    if (!r.defined()) std::tie(r, c) = std::pair(matrix(rows, frame.real), matrix(columns, frame.real));
    return Tensors{backward ? mapped(in[0], r.transpose(0, 1), c.transpose(0, 1)) : mapped(in[0], r, c)};
  };
}

auto resize_axis(const AtenCall& call) { return call.args.text("mode") == "bilinear" ? between : nearest; }

}  // namespace

void add_pools(AtenTable& table) {
  table["max_pool2d"] = max_pool;
  table["max_pool2d_train"] = max_pool;
  table["max_pool2d_grad"] = max_pool_grad;
  table["avg_pool2d"] = avg_pool;
  table["avg_pool2d_grad"] = avg_pool_grad;
  table["adaptive_avg_pool2d"] = [](const AtenCall& call) { return separable(even_parts, call.x(), call.y(), false); };
  table["adaptive_avg_pool2d_grad"] = [](const AtenCall& call) {
    return separable(even_parts, call.y(), call.x(), true);
  };
  table["resize"] = [](const AtenCall& call) { return separable(resize_axis(call), call.x(), call.y(), false); };
  table["resize_grad"] = [](const AtenCall& call) { return separable(resize_axis(call), call.y(), call.x(), true); };
}

}  // namespace lanista::device
