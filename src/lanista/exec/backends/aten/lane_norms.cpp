// Normalisations and softmax, in a few kernels each.
#include <algorithm>

#include "lanista/exec/backends/aten/aten_fusion.h"
#include "lanista/exec/backends/aten/lane_rows.h"

namespace lanista::device {
namespace {

constexpr std::int64_t kChannel = 2;  // dimension of the channels, after lanes and samples

// Rows [lanes, rows, c] in the shape of `like`.
Tensor in_place_of(const Tensor& rows, const Tensor& like) {
  if (like.dim() == 3) return rows.reshape(like.sizes());
  return to_channels_first(rows.reshape({like.size(0), like.size(1), like.size(3), like.size(4), like.size(2)}));
}

lane::NormApply apply_to(const Tensor& x, const Tensor& mean, const Tensor& inverse, const Tensor& y) {
  return {.x = x.data_ptr(),
          .dy = nullptr,
          .mean = mean.data_ptr(),
          .inverse = inverse.data_ptr(),
          .slope = nullptr,
          .shift = nullptr,
          .dot = nullptr,
          .sum = nullptr,
          .y = y.data_ptr(),
          .activated = nullptr,
          .rows = x.size(1),
          .columns = x.size(2),
          .stride = 0,
          .vector_width = std::min(vector_width_of(x, x.size(2)), vector_width_of(y, x.size(2))),
          .a = 0,
          .b = 0,
          .activation = lane::kNoActivation};
}

AtenRun batch_norm_train(const AtenCall& call, const LaneKernels* k, const LaneActivation& end = {}) {
  return [k, end, affine = call.args.flag("affine"), eps = call.args.real("eps"), number = call.lane_attr("momentum")](
             const Frame& frame, const Tensors& in) {
    const std::size_t next = affine ? 3 : 1;
    const Tensor x = rows_of(in[0], kChannel).contiguous();
    const at::ScalarType type = x.scalar_type();
    const std::int64_t lanes = x.size(0), columns = x.size(2);
    const Tensor sums = column_moments(*k, "norm_part", x, {});
    const auto fresh = [&] { return at::empty({lanes, columns}, x.options()); };
    Tensor mean = fresh(), inverse = fresh(), new_mean = fresh(), new_var = fresh(), y = at::empty_like(x);
    const Tensor old_mean = dense_columns(in[next]), old_var = dense_columns(in[next + 1]);
    TORCH_CHECK(old_mean.stride(0) == old_var.stride(0), "running statistics with different strides");
    k->run_rows("norm_end", type, lanes * columns, sums.size(1),
                lane::NormFinalize{
                    static_cast<const double*>(sums.data_ptr()), x.data_ptr(), old_mean.data_ptr(), old_var.data_ptr(),
                    static_cast<const double*>(frame.lane_attrs.data_ptr()) + static_cast<std::int64_t>(number),
                    mean.data_ptr(), inverse.data_ptr(), new_mean.data_ptr(), new_var.data_ptr(), eps, x.size(1),
                    columns, old_mean.stride(0), frame.lane_attrs.stride(0), sums.size(1)});
    lane::NormApply apply = apply_to(x, mean, inverse, y);
    Tensor slope, shift;
    if (affine) {
      slope = dense_columns(in[1]), shift = dense_columns(in[2]);
      apply.slope = slope.data_ptr(), apply.shift = shift.data_ptr(), apply.stride = slope.stride(0);
    }
    Tensor activated;
    if (end.of != lane::kNoActivation) {
      activated = at::empty_like(x);
      apply.activated = activated.data_ptr(), apply.activation = end.of, apply.a = end.a, apply.b = end.b;
    }
    k->run("norm_apply", type, x.numel() / apply.vector_width, apply);
    Tensors out{in_place_of(y, in[0]), mean, inverse, new_mean, new_var};
    if (activated.defined()) out.push_back(in_place_of(activated, in[0]));
    return out;
  };
}

AtenRun batch_norm_grad(const AtenCall&, const LaneKernels* k) {
  return [k](const Frame&, const Tensors& in) {
    const Tensor x = rows_of(in[0], kChannel).contiguous(), dy = rows_of(in[3], kChannel).contiguous();
    const Tensor mean = in[1].contiguous(), inverse = in[2].contiguous();
    const at::ScalarType type = x.scalar_type();
    const std::int64_t lanes = x.size(0), columns = x.size(2);
    lane::ColumnSum call{};
    call.dy = dy.data_ptr(), call.mean = mean.data_ptr();
    const Tensor sums = column_moments(*k, "norm_grad_part", x, call);
    Tensor dot = at::empty({lanes, columns}, x.options()), sum = at::empty({lanes, columns}, x.options());
    lane::NormFinalize end{};
    end.sums = static_cast<const double*>(sums.data_ptr()), end.inverse = inverse.data_ptr();
    end.new_mean = dot.data_ptr(), end.new_var = sum.data_ptr();
    end.rows = x.size(1), end.columns = columns, end.parts = sums.size(1);
    k->run_rows("norm_grad_end", type, lanes * columns, end.parts, end);
    Tensor dx = at::empty_like(x);
    lane::NormApply apply = apply_to(x, mean, inverse, dx);
    apply.dy = dy.data_ptr(), apply.dot = dot.data_ptr(), apply.sum = sum.data_ptr();
    Tensor slope;
    if (in.size() > 4) {
      slope = dense_columns(in[4]);
      apply.slope = slope.data_ptr(), apply.stride = slope.stride(0);
    }
    apply.vector_width = std::min<std::int64_t>(apply.vector_width, vector_width_of(dy, columns));
    k->run("norm_grad_apply", type, x.numel() / apply.vector_width, apply);
    return Tensors{in_place_of(dx, in[0]), dot, sum};
  };
}

std::int64_t normalised(const AtenCall& call) {
  std::int64_t len = 1;
  for (std::int64_t i = 0; i < call.args.integer("axes"); ++i)
    len *= call.x().dims[call.x().rank() - 1 - static_cast<std::size_t>(i)];
  return len;
}

// Weights [lanes, len] with the element order of the rows.
Tensor flat(const Tensor& weights) { return dense_columns(weights.reshape({weights.size(0), -1})); }

AtenRun layer_norm(const AtenCall& call, bool keeps, const LaneKernels* k) {
  return [k, len = normalised(call), affine = call.args.flag("affine"), keeps, eps = call.args.real("eps"),
          out = call.out](const Frame& frame, const Tensors& in) {
    const Tensor x = in[0].contiguous();
    const std::int64_t rows = x.numel() / len;
    Tensor y = at::empty_like(x), mean, inverse, weight, bias;
    lane::Rows rows_of{};
    rows_of.x = x.data_ptr(), rows_of.y = y.data_ptr(), rows_of.eps = eps, rows_of.len = len;
    rows_of.rows_per_lane = rows / frame.lanes;
    if (affine) {
      weight = flat(in[1]), bias = flat(in[2]);
      TORCH_CHECK(weight.stride(0) == bias.stride(0), "weights with different strides");
      rows_of.weight = weight.data_ptr(), rows_of.bias = bias.data_ptr(), rows_of.stride = weight.stride(0);
    }
    if (keeps) {
      mean = at::empty({rows}, x.options()), inverse = at::empty({rows}, x.options());
      rows_of.mean = mean.data_ptr(), rows_of.inverse = inverse.data_ptr();
    }
    k->run_rows("layer_norm", x.scalar_type(), rows, len, rows_of);
    if (!keeps) return Tensors{y};
    return Tensors{y, mean.reshape(sizes_of(frame, out[1].shape)), inverse.reshape(sizes_of(frame, out[2].shape))};
  };
}

// Layer norm with rows that are read only by a mean over positions.
AtenRun layer_norm_and_mean(std::span<const AtenCall> calls, const LaneKernels* k) {
  return [k, affine = calls[0].args.flag("affine"), eps = calls[0].args.real("eps"), norm = calls[0].out,
          y = calls[1].y()](const Frame& frame, const Tensors& in) {
    const Tensor weight = affine ? flat(in[1]) : Tensor(), bias = affine ? flat(in[2]) : Tensor();
    const LaneRowsMean made = lane_rows_mean(*k, in[0].contiguous(), weight, bias, eps);
    return Tensors{made.mean.reshape(sizes_of(frame, norm[1].shape)),
                   made.inverse.reshape(sizes_of(frame, norm[2].shape)), made.y.reshape(sizes_of(frame, y))};
  };
}

bool is_mean_of_positions(const graph::Types& types, const graph::Node& norm, const graph::Node& mean) {
  const graph::Shape& x = types.at(norm.inputs[0]).shape;
  const graph::AttrValue *axes = norm.attrs.find("axes"), *over = mean.attrs.find("axes");
  const bool of_last = axes == nullptr || *axes == graph::AttrValue(std::int64_t{1});
  return x.rank() == 3 && x.dims[2] <= kMaxRegisterRow && of_last && over != nullptr &&
         *over == graph::AttrValue(std::vector<std::int64_t>{1});
}

// Distinct rows [lanes, .., len] of a gradient. Equal rows that follow one another are kept once.
Tensor unlike_rows(const Tensor& dy, std::int64_t len) {
  Tensor x = dy;
  std::int64_t dim = x.dim() - 1;  // last dimension outside of a row
  for (std::int64_t left = len; left > 1; left /= x.size(dim--)) {
  }
  while (dim > 0 && x.stride(dim) == 0) x = x.select(dim--, 0);
  return x.contiguous().reshape({x.size(0), -1, len});
}

LaneRowsGrad gradient_of_norm(const LaneKernels& kernels, std::int64_t len, const Tensors& in, bool weighed,
                              const Tensor& other = {}) {
  const auto rows = [&](const Tensor& x, std::int64_t columns) {
    return x.contiguous().reshape({x.size(0), -1, columns});
  };
  const LaneRows of{.x = rows(in[0], len),
                    .mean = rows(in[1], 1),
                    .inverse = rows(in[2], 1),
                    .weight = weighed ? flat(in[4]) : Tensor()};
  return lane_rows_grad(kernels, of, unlike_rows(in[3], len), other.defined() ? rows(other, len) : Tensor());
}

AtenRun layer_norm_grad(const AtenCall& call, const LaneKernels* k) {
  return [k, len = call.y(1).elements_per_sample(), out = call.out](const Frame& frame, const Tensors& in) {
    const LaneRowsGrad grad = gradient_of_norm(*k, len, in, in.size() > 4);
    return Tensors{grad.x.reshape(in[0].sizes()), grad.weight.reshape(sizes_of(frame, out[1].shape)),
                   grad.bias.reshape(sizes_of(frame, out[2].shape))};
  };
}

// Adds the gradient of the residual path around the norm.
AtenRun layer_norm_grad_and_sum(const AtenCall& call, const LaneKernels* k) {
  return [k, len = call.y(1).elements_per_sample(), out = call.out, own = call.args.inputs.size()](const Frame& frame,
                                                                                                   const Tensors& in) {
    const LaneRowsGrad grad = gradient_of_norm(*k, len, in, own > 4, sum_of_terms_from(in, own));
    return Tensors{grad.weight.reshape(sizes_of(frame, out[1].shape)), grad.bias.reshape(sizes_of(frame, out[2].shape)),
                   grad.x.reshape(in[0].sizes())};
  };
}

std::int64_t softmax_axis(const AtenCall& call) {
  const std::int64_t axis = call.args.integer("axis");
  return axis < 0 ? axis : axis + 1;
}

AtenRun softmax(const AtenCall& call, const LaneKernels* k) {
  return [k, axis = softmax_axis(call)](const Frame&, const Tensors& in) {
    const Tensor x = in[0].transpose(axis, -1).contiguous();
    Tensor y = at::empty_like(x);
    lane::Rows rows{};
    rows.x = x.data_ptr(), rows.y = y.data_ptr(), rows.len = x.size(-1);
    k->run_rows("softmax", x.scalar_type(), x.numel() / x.size(-1), x.size(-1), rows);
    return Tensors{y.transpose(axis, -1)};
  };
}

AtenRun softmax_grad(const AtenCall& call, const LaneKernels* k, double scale = 1) {
  return [k, axis = softmax_axis(call), scale](const Frame&, const Tensors& in) {
    const Tensor x = in[0].transpose(axis, -1).contiguous(), dy = in[1].transpose(axis, -1).contiguous();
    Tensor dx = at::empty_like(x);
    lane::Rows rows{};
    rows.x = x.data_ptr(), rows.dy = dy.data_ptr(), rows.y = dx.data_ptr(), rows.len = x.size(-1);
    rows.scale = scale;
    k->run_rows("softmax_grad", x.scalar_type(), x.numel() / x.size(-1), x.size(-1), rows);
    return Tensors{dx.transpose(axis, -1)};
  };
}

}  // namespace

void add_lane_norm_fusions(AtenFusions& fusions, const LaneKernels& kernels) {
  for (const char* name : LaneActivation::kNames) {
    fusions[{"batch_norm_train", name}] = {AtenFusion::kReadsFirstOutput,
                                           [k = &kernels](std::span<const AtenCall> calls) {
                                             return batch_norm_train(calls[0], k, LaneActivation::of_call(calls[1]));
                                           }};
  }
  fusions[{"layer_norm_train", "mean"}] = {
      AtenFusion::kReplacesLastInput,
      [k = &kernels](std::span<const AtenCall> calls) { return layer_norm_and_mean(calls, k); }, is_mean_of_positions};
  fusions[{"layer_norm_grad", "add"}] = {
      AtenFusion::kReplacesLastInput,
      [k = &kernels](std::span<const AtenCall> calls) { return layer_norm_grad_and_sum(calls[0], k); }};
  fusions[{"softmax_grad", "scale_by"}] = {
      AtenFusion::kReplacesLastInput,
      [k = &kernels](std::span<const AtenCall> calls) { return softmax_grad(calls[0], k, calls[1].args.real("by")); }};
}

void add_lane_norms(AtenTable& table, const LaneKernels& kernels) {
  table["batch_norm_train"] = [k = &kernels](const AtenCall& call) { return batch_norm_train(call, k); };
  table["batch_norm_grad"] = with_kernels(kernels, batch_norm_grad);
  table["layer_norm"] =
      with_kernels(kernels, [](const AtenCall& call, const LaneKernels* k) { return layer_norm(call, false, k); });
  table["layer_norm_train"] =
      with_kernels(kernels, [](const AtenCall& call, const LaneKernels* k) { return layer_norm(call, true, k); });
  table["layer_norm_grad"] = with_kernels(kernels, layer_norm_grad);
  table["softmax"] = with_kernels(kernels, softmax);
  table["softmax_grad"] =
      with_kernels(kernels, [](const AtenCall& call, const LaneKernels* k) { return softmax_grad(call, k); });
}

}  // namespace lanista::device
