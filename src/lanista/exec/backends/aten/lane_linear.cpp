// Linear layers and matrix products by tile kernels, with their epilogues.
#include <string>
#include <utility>

#include "lanista/exec/backends/aten/aten_fusion.h"
#include "lanista/exec/backends/aten/aten_matrix_views.h"
#include "lanista/exec/backends/aten/lane_products.h"
#include "lanista/exec/backends/aten/operand_rounding.h"

namespace lanista::device {
namespace {

ProductResult linear(const LaneProducts& multiply, const Tensors& in, bool has_bias, ProductEpilogue end = {}) {
  if (has_bias) end.bias = in[2];
  ProductResult out = multiply(rows(in[0]), in[1].transpose(1, 2), end);
  out.y = unrolled(out.y, in[0]);
  if (out.activated.defined()) out.activated = unrolled(out.activated, in[0]);
  return out;
}

ProductResult linear_grad_x(const LaneProducts& multiply, const Tensors& in, ProductEpilogue end = {}) {
  if (end.pre_activation.defined()) end.pre_activation = rows(end.pre_activation);
  ProductResult out = multiply(rows(in[0]), in[1], end);
  out.y = unrolled(out.y, in[0]);
  return out;
}

// Weight gradient [in, out], as in the state. It is undefined if the product updated the weights.
ProductResult linear_grad_w(const LaneProducts& multiply, const Frame& frame, graph::NodeId id, const Tensors& in,
                            ProductEpilogue end = {}) {
  if (frame.fused_updates != nullptr) {
    const auto found = frame.fused_updates->find(id);
    if (found != frame.fused_updates->end()) end.fused_update = &found->second;
  }
  ProductResult out = multiply(rows(in[0]).transpose(1, 2), rows(in[1]), end);
  if (out.y.defined()) out.y = out.y.transpose(1, 2);
  return out;
}

struct MergedBatches {
  Tensor left, right, destination;
};

// Operands as [outer, inner, rows, columns]. An operand is copied only if two strides cannot describe its matrices;
// then there is no `destination`.
MergedBatches in_two_batches(const Tensor& left, const Tensor& right, const Tensor& destination = {}) {
  std::vector<std::int64_t> dims;  // last axis of each run of axes that merge in all operands
  std::vector<std::int64_t> sizes;
  const auto follows = [](const Tensor& x, std::int64_t outer, std::int64_t inner) {
    return !x.defined() || x.stride(outer) == x.stride(inner) * x.size(inner);
  };
  for (std::int64_t dim = 0; dim + 2 < left.dim(); ++dim) {
    if (left.size(dim) == 1) continue;
    const std::int64_t last = dims.empty() ? 0 : dims.back();
    if (!dims.empty() && follows(left, last, dim) && follows(right, last, dim) && follows(destination, last, dim)) {
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
  return {viewed(left), viewed(right), destination.defined() ? viewed(destination) : Tensor()};
}

AtenRun matmul(const LaneMatmul& product, const AtenCall& call) {
  return [product, y = call.y()](const Frame& frame, const Tensors& in) {
    return Tensors{product(in[0], in[1]).reshape(sizes_of(frame, y))};
  };
}

// Writes the product in the transposed order if rows stay rows.
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
      transposes_left_(call.args.flag("transpose_a")),
      transposes_right_(call.args.flag("transpose_b")),
      scale_(scale) {}

Tensor LaneMatmul::operator()(const Tensor& left, const Tensor& right, const Tensor& destination) const {
  auto [l, r, to] = in_two_batches(left, right, destination);
  if (transposes_left_) l = l.transpose(2, 3);
  if (transposes_right_) r = r.transpose(2, 3);
  const bool in_place = to.defined() && to.stride(3) == 1;
  const Tensor product = multiply_(l, r, {.scale = scale_, .destination = in_place ? to : Tensor()}).y;
  if (destination.defined() && !in_place) Tensor(destination).copy_(product.reshape(destination.sizes()));
  return product;
}

void add_lane_linear_fusions(AtenFusions& fusions, const LaneKernels& kernels,
                             const OperandRounding& operand_rounding) {
  const LaneProducts multiply(kernels, operand_rounding);
  for (const std::string name : LaneActivation::kNames) {
    fusions[{"linear", name}] = {AtenFusion::kReadsFirstOutput, [multiply](std::span<const AtenCall> calls) -> AtenRun {
                                   ProductEpilogue end{.activation = LaneActivation::of_call(calls[1])};
                                   end.activated = true;
                                   return [multiply, end](const Frame&, const Tensors& in) {
                                     const ProductResult out = linear(multiply, in, in.size() > 2, end);
                                     return Tensors{out.y, out.activated};
                                   };
                                 }};
    fusions[{"linear_grad_x", name + "_grad"}] = {
        AtenFusion::kReplacesLastInput, [multiply](std::span<const AtenCall> calls) -> AtenRun {
          return [multiply, end = ProductEpilogue{.activation = LaneActivation::of_call(calls[1])}](const Frame&,
                                                                                                    const Tensors& in) {
            ProductEpilogue own = end;
            own.pre_activation = in[2];
            return Tensors{linear_grad_x(multiply, in, own).y};
          };
        }};
  }
  fusions[{"linear", "add"}] = {AtenFusion::kReplacesLastInput, [multiply](std::span<const AtenCall> calls) -> AtenRun {
                                  return
                                      [multiply, own = calls[0].args.inputs.size()](const Frame&, const Tensors& in) {
                                        const Tensor other = rows(sum_of_terms_from(in, own));
                                        return Tensors{linear(multiply, in, own > 2, {.other = other}).y};
                                      };
                                }};
  fusions[{"linear_grad_x", "mean_grad"}] = {
      AtenFusion::kReplacesLastInput, [multiply](std::span<const AtenCall> calls) -> AtenRun {
        return [multiply, share = MeanGradientShare(calls[1])](const Frame& frame, const Tensors& in) {
          return Tensors{share(frame, linear_grad_x(multiply, in, {.scale = 1 / share.count}).y)};
        };
      }};
  fusions[{"matmul", "transpose"}] = {AtenFusion::kReplacesLastInput, [multiply](std::span<const AtenCall> calls) {
                                        return transposed_matmul(LaneMatmul(multiply, calls[0]), calls[1]);
                                      }};
  fusions[{"matmul", "scale_by"}] = {AtenFusion::kReplacesLastInput, [multiply](std::span<const AtenCall> calls) {
                                       return matmul({multiply, calls[0], calls[1].args.real("by")}, calls[0]);
                                     }};
  fusions[{"linear_grad_w", "channel_sum"}] = {
      AtenFusion::kReadsSameInput, [multiply](std::span<const AtenCall> calls) -> AtenRun {
        return [multiply, id = calls[0].id](const Frame& frame, const Tensors& in) {
          const ProductResult out = linear_grad_w(multiply, frame, id, in, {.column_sums = true});
          return Tensors{out.y, out.column_sums};
        };
      }};
}

void add_lane_linear(AtenTable& table, const LaneKernels& kernels, const OperandRounding& operand_rounding) {
  const LaneProducts multiply(kernels, operand_rounding);
  table["linear"] = operand_rounding.of([multiply](const AtenCall&) -> AtenRun {
    return [multiply](const Frame&, const Tensors& in) { return Tensors{linear(multiply, in, in.size() > 2).y}; };
  });
  table["linear_grad_x"] =
      operand_rounding.of(elementwise_entry([multiply](const Tensors& in) { return linear_grad_x(multiply, in).y; }));
  table["linear_grad_w"] = operand_rounding.of([multiply](const AtenCall& call) -> AtenRun {
    return [multiply, id = call.id](const Frame& frame, const Tensors& in) {
      return Tensors{linear_grad_w(multiply, frame, id, in).y};
    };
  });
  table["matmul"] = operand_rounding.of([multiply](const AtenCall& call) { return matmul({multiply, call}, call); });
}

}  // namespace lanista::device
