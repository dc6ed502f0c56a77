// Linear layers and products of values by tiles of our own, with what is done to their numbers in the same pass.
#include <string>
#include <utility>

#include "lanista/exec/backends/aten/aten_joins.h"
#include "lanista/exec/backends/aten/aten_products.h"
#include "lanista/exec/backends/aten/aten_rounding.h"
#include "lanista/exec/backends/aten/lane_products.h"

namespace lanista::device {
namespace {

ProductOut linear(const LaneProducts& multiply, const Tensors& in, bool has_bias, ProductEnd end = {}) {
  if (has_bias) end.bias = in[2];
  ProductOut out = multiply(rows(in[0]), in[1].transpose(1, 2), end);
  out.y = unrolled(out.y, in[0]);
  if (out.finished.defined()) out.finished = unrolled(out.finished, in[0]);
  return out;
}

ProductOut linear_grad_x(const LaneProducts& multiply, const Tensors& in, ProductEnd end = {}) {
  if (end.before.defined()) end.before = rows(end.before);
  ProductOut out = multiply(rows(in[0]), in[1], end);
  out.y = unrolled(out.y, in[0]);
  return out;
}

// [in, out] as it lies in the state; nothing where the weights have descended by it.
ProductOut linear_grad_w(const LaneProducts& multiply, const Frame& frame, graph::NodeId id, const Tensors& in,
                         ProductEnd end = {}) {
  if (frame.descents != nullptr) {
    const auto found = frame.descents->find(id);
    if (found != frame.descents->end()) end.descent = &found->second;
  }
  ProductOut out = multiply(rows(in[0]).transpose(1, 2), rows(in[1]), end);
  if (out.y.defined()) out.y = out.y.transpose(1, 2);
  return out;
}

struct TwoBatches {
  Tensor left, right, into;
};

// All as [outer, inner, rows, columns], copied only where no two strides say where their matrices lie; then there is no
// `into`.
TwoBatches in_two_batches(const Tensor& left, const Tensor& right, const Tensor& into = {}) {
  std::vector<std::int64_t> dims;  // the inmost of each run of batches that lie one behind the other in all
  std::vector<std::int64_t> sizes;
  const auto follows = [](const Tensor& x, std::int64_t outer, std::int64_t inner) {
    return !x.defined() || x.stride(outer) == x.stride(inner) * x.size(inner);
  };
  for (std::int64_t dim = 0; dim + 2 < left.dim(); ++dim) {
    if (left.size(dim) == 1) continue;
    const std::int64_t last = dims.empty() ? 0 : dims.back();
    if (!dims.empty() && follows(left, last, dim) && follows(right, last, dim) && follows(into, last, dim)) {
      dims.back() = dim;
      sizes.back() *= left.size(dim);
    } else {
      dims.push_back(dim);
      sizes.push_back(left.size(dim));
    }
  }
  if (dims.size() > 2) {
    const auto copied = [](const Tensor& x) { return x.reshape({-1, 1, x.size(-2), x.size(-1)}); };
    return {copied(left), copied(right), {}};
  }
  const auto viewed = [&](const Tensor& x) {
    std::vector<std::int64_t> all, strides;
    for (std::size_t i = 0; i < 2; ++i) {
      all.push_back(i < dims.size() ? sizes[i] : 1);
      strides.push_back(i < dims.size() ? x.stride(dims[i]) : 0);
    }
    all.insert(all.end(), {x.size(-2), x.size(-1)});
    strides.insert(strides.end(), {x.stride(-2), x.stride(-1)});
    return x.as_strided(all, strides);
  };
  return {viewed(left), viewed(right), into.defined() ? viewed(into) : Tensor()};
}

AtenRun matmul(const LaneMatmul& product, const AtenCall& call) {
  return [product, y = call.y()](const Frame& frame, const Tensors& in) {
    return Tensors{product(in[0], in[1]).reshape(sizes_of(frame, y))};
  };
}

// Its matrices are written where a transposition wants them, if rows stay rows.
AtenRun transposed_matmul(const LaneMatmul& product, const AtenCall& transpose) {
  return [product, back = inverse_of(axes_of(transpose)), y = transpose.y()](const Frame& frame, const Tensors& in) {
    const Tensor made = at::empty(sizes_of(frame, y), in[0].options());
    product(in[0], in[1], made.permute(back));
    return Tensors{made};
  };
}

}  // namespace

LaneMatmul::LaneMatmul(const LaneProducts& multiply, const AtenCall& call, double scale)
    : multiply_(multiply),
      turns_left_(call.args.flag("transpose_a")),
      turns_right_(call.args.flag("transpose_b")),
      scale_(scale) {}

Tensor LaneMatmul::operator()(const Tensor& left, const Tensor& right, const Tensor& into) const {
  auto [l, r, to] = in_two_batches(left, right, into);
  if (turns_left_) l = l.transpose(2, 3);
  if (turns_right_) r = r.transpose(2, 3);
  const bool in_place = to.defined() && to.stride(3) == 1;
  const Tensor product = multiply_(l, r, {.scale = scale_, .into = in_place ? to : Tensor()}).y;
  if (into.defined() && !in_place) Tensor(into).copy_(product.reshape(into.sizes()));
  return product;
}

void join_lane_linear(AtenJoins& joins, const LaneKernels& kernels, const Products& products) {
  const LaneProducts multiply(kernels, products);
  for (const std::string name : LaneFinish::kNames) {
    joins[{"linear", name}] = {AtenJoin::kAfter, [multiply](std::span<const AtenCall> calls) -> AtenRun {
                                 ProductEnd end{.finish = LaneFinish::of_call(calls[1])};
                                 end.finished = true;
                                 return [multiply, end](const Frame&, const Tensors& in) {
                                   const ProductOut out = linear(multiply, in, in.size() > 2, end);
                                   return Tensors{out.y, out.finished};
                                 };
                               }};
    joins[{"linear_grad_x", name + "_grad"}] = {
        AtenJoin::kInstead, [multiply](std::span<const AtenCall> calls) -> AtenRun {
          return
              [multiply, end = ProductEnd{.finish = LaneFinish::of_call(calls[1])}](const Frame&, const Tensors& in) {
                ProductEnd own = end;
                own.before = in[2];
                return Tensors{linear_grad_x(multiply, in, own).y};
              };
        }};
  }
  joins[{"linear", "add"}] = {AtenJoin::kInstead, [multiply](std::span<const AtenCall> calls) -> AtenRun {
                                return [multiply, own = calls[0].args.inputs.size()](const Frame&, const Tensors& in) {
                                  const Tensor other = rows(sum_from(in, own));
                                  return Tensors{linear(multiply, in, own > 2, {.other = other}).y};
                                };
                              }};
  joins[{"linear_grad_x", "mean_grad"}] = {
      AtenJoin::kInstead, [multiply](std::span<const AtenCall> calls) -> AtenRun {
        return [multiply, share = MeanShare(calls[1])](const Frame& frame, const Tensors& in) {
          return Tensors{share(frame, linear_grad_x(multiply, in, {.scale = 1 / share.count}).y)};
        };
      }};
  joins[{"matmul", "transpose"}] = {AtenJoin::kInstead, [multiply](std::span<const AtenCall> calls) {
                                      return transposed_matmul(LaneMatmul(multiply, calls[0]), calls[1]);
                                    }};
  joins[{"matmul", "scale_by"}] = {AtenJoin::kInstead, [multiply](std::span<const AtenCall> calls) {
                                     return matmul({multiply, calls[0], calls[1].args.real("by")}, calls[0]);
                                   }};
  joins[{"linear_grad_w", "channel_sum"}] = {
      AtenJoin::kBeside, [multiply](std::span<const AtenCall> calls) -> AtenRun {
        return [multiply, id = calls[0].id](const Frame& frame, const Tensors& in) {
          const ProductOut out = linear_grad_w(multiply, frame, id, in, {.column_sums = true});
          return Tensors{out.y, out.column_sums};
        };
      }};
}

void add_lane_linear(AtenTable& table, const LaneKernels& kernels, const Products& products) {
  const LaneProducts multiply(kernels, products);
  table["linear"] = products.of([multiply](const AtenCall&) -> AtenRun {
    return [multiply](const Frame&, const Tensors& in) { return Tensors{linear(multiply, in, in.size() > 2).y}; };
  });
  table["linear_grad_x"] = products.of(plain([multiply](const Tensors& in) { return linear_grad_x(multiply, in).y; }));
  table["linear_grad_w"] = products.of([multiply](const AtenCall& call) -> AtenRun {
    return [multiply, id = call.id](const Frame& frame, const Tensors& in) {
      return Tensors{linear_grad_w(multiply, frame, id, in).y};
    };
  });
  table["matmul"] = products.of([multiply](const AtenCall& call) { return matmul({multiply, call}, call); });
}

}  // namespace lanista::device
