// Activations, sums and products, softmax, dropout.
#include <limits>

#include "lanista/exec/backends/aten/aten_table.h"
#include "lanista/exec/kernels/kernels.h"
#include "lanista/model/ops/op_rules.h"

namespace lanista::device {
namespace {

constexpr double kTwoRoot = 1.5957691216057307117597842397375;  // 2 sqrt(2 / pi)
constexpr double kCubic = 0.044715;

Tensor zeros(const Tensor& like) { return at::zeros_like(like); }

// NaN passes through.
Tensor clipped(const Tensor& x, double low, double high) {
  const Tensor raised = at::where(x < low, at::full_like(x, low), x);
  return at::where(raised > high, at::full_like(x, high), raised);
}

// d where y is strictly inside the range, else zero.
Tensor inside(const Tensor& y, double low, double high, const Tensor& d) {
  return at::where((y <= low).logical_or(y >= high), zeros(d), d);
}

Tensor relu(const Tensors& in) { return at::where(in[0] <= 0, zeros(in[0]), in[0]); }
Tensor relu_grad(const Tensors& in) { return at::where(in[0] <= 0, zeros(in[1]), in[1]); }

Tensor gelu_gate(const Tensor& x) { return sigmoid_of((x * kTwoRoot) * (x * x * kCubic + 1)); }
Tensor gelu(const Tensors& in) { return in[0] * gelu_gate(in[0]); }
Tensor gelu_grad(const Tensors& in) {
  const Tensor& v = in[0];
  const Tensor gate = gelu_gate(v), slope = v * v * (3 * kCubic * kTwoRoot) + kTwoRoot;
  return in[1] * ((v * slope) * (gate * (1 - gate)) + gate);
}

Tensor silu(const Tensors& in) { return in[0] * sigmoid_of(in[0]); }
Tensor silu_grad(const Tensors& in) {
  const Tensor gate = sigmoid_of(in[0]);
  return in[1] * (in[0] * (gate * (1 - gate)) + gate);
}

Tensor tanh_grad(const Tensors& in) { return in[1] * ((1 - in[0]) * (1 + in[0])); }
Tensor sigmoid_grad(const Tensors& in) { return in[1] * (in[0] * (1 - in[0])); }

Tensor hard_swish(const Tensors& in) { return in[0] * clipped(in[0] * (1.0 / 6) + 0.5, 0, 1); }
Tensor hard_swish_grad(const Tensors& in) {
  const Tensor open = at::where(in[0] >= 3, in[1], in[1] * (in[0] * (1.0 / 3) + 0.5));
  return at::where(in[0] <= -3, zeros(in[1]), open);
}

Tensor softsign(const Tensors& in) { return in[0] / (at::abs(in[0]) + 1); }
Tensor softsign_grad(const Tensors& in) {
  const Tensor below = at::abs(in[0]) + 1;
  return in[1] / (below * below);
}

Tensor distribution(const Tensor& x) { return (x * -0.70710678118654752440).erfc() * 0.5; }
Tensor gelu_erf(const Tensors& in) { return in[0] * distribution(in[0]); }
Tensor gelu_erf_grad(const Tensors& in) {
  const Tensor density = at::exp(in[0] * in[0] * -0.5) * 0.39894228040143267794;  // 1 / sqrt(2 pi)
  return in[1] * (in[0] * density + distribution(in[0]));
}

Tensor softplus(const Tensors& in) { return in[0].clamp_min(0) + at::exp(-at::abs(in[0])).log1p(); }
Tensor softplus_grad(const Tensors& in) { return in[1] * sigmoid_of(in[0]); }

AtenRun leaky_relu(const AtenCall& call) {
  return [a = call.args.real("alpha")](const Frame&, const Tensors& in) {
    return Tensors{at::where(in[0] < 0, in[0] * a, in[0])};
  };
}

AtenRun leaky_relu_grad(const AtenCall& call) {
  return [a = call.args.real("alpha")](const Frame&, const Tensors& in) {
    return Tensors{at::where(in[0] <= 0, in[1] * a, in[1])};
  };
}

AtenRun elu(const AtenCall& call) {
  return [a = call.args.real("alpha")](const Frame&, const Tensors& in) {
    return Tensors{at::where(in[0] > 0, in[0], at::expm1(in[0]) * a)};
  };
}

AtenRun elu_grad(const AtenCall& call) {
  return [a = call.args.real("alpha")](const Frame&, const Tensors& in) {
    return Tensors{at::where(in[0] > 0, in[1], in[1] * (in[0] + a))};
  };
}

AtenRun clip(const AtenCall& call) {
  return [low = call.args.real("min"), high = call.args.real("max")](const Frame&, const Tensors& in) {
    return Tensors{clipped(in[0], low, high)};
  };
}

AtenRun clip_grad(const AtenCall& call) {
  return [low = call.args.real("min"), high = call.args.real("max")](const Frame&, const Tensors& in) {
    return Tensors{inside(in[0], low, high, in[1])};
  };
}

AtenRun hard_sigmoid(const AtenCall& call) {
  return [a = call.args.real("alpha"), b = call.args.real("beta")](const Frame&, const Tensors& in) {
    return Tensors{clipped(in[0] * a + b, 0, 1)};
  };
}

AtenRun hard_sigmoid_grad(const AtenCall& call) {
  return [a = call.args.real("alpha")](const Frame&, const Tensors& in) {
    return Tensors{inside(in[0], 0, 1, in[1] * a)};
  };
}

Tensor sum_of_many(const Tensors& in) {
  Tensor sum = in[0];
  for (std::size_t i = 1; i < in.size(); ++i) sum = sum + in[i];
  return sum;
}

std::int64_t softmax_axis(const AtenCall& call) {
  const std::int64_t axis = call.args.integer("axis");
  return axis < 0 ? axis : axis + 1;
}

AtenRun softmax(const AtenCall& call) {
  return [axis = softmax_axis(call)](const Frame&, const Tensors& in) {
    const Tensor x = in[0].transpose(axis, -1).contiguous();
    const Tensor e = at::exp(x - at::amax(x, {-1}, true));
    return Tensors{(e / row_sum(e)).transpose(axis, -1)};
  };
}

AtenRun softmax_grad(const AtenCall& call) {
  return [axis = softmax_axis(call)](const Frame&, const Tensors& in) {
    const Tensor y = in[0].transpose(axis, -1), dy = in[1].transpose(axis, -1);
    return Tensors{(y * (dy - row_sum(y * dy))).transpose(axis, -1)};
  };
}

// The masks of the CPU, by its kernel. Elements are numbered in the CPU's memory order, channels of images last.
template <class T>
void drop(const Frame& frame, std::size_t number, std::uint64_t origin, const Tensor& x, Tensor& y) {
  const auto& kernel = kernels::kernels<T>(kernels::best_isa());
  const std::size_t lane_attrs = frame.host_lane_attrs.size() / static_cast<std::size_t>(frame.lanes);
  const std::int64_t each = x.numel() / std::max<std::int64_t>(1, frame.lanes), per_sample = each / frame.batch;
  for (std::int64_t lane = 0; lane < frame.lanes; ++lane) {
    const LaneKey& key = frame.keys[static_cast<std::size_t>(lane)];
    if (!key.active) continue;
    kernel.dropout(frame.batch, per_sample, key.samples.data(),
                   frame.host_lane_attrs[static_cast<std::size_t>(lane) * lane_attrs + number],
                   {key.seed, key.step, origin}, x.data_ptr<T>() + lane * each, y.data_ptr<T>() + lane * each);
  }
}

AtenRun dropout_train(const AtenCall& call) {
  return [number = call.lane_attr("p"), origin = static_cast<std::uint64_t>(call.args.integer("origin")),
          image = call.x().rank() == 4](const Frame& frame, const Tensors& in) {
    const Tensor x = (image ? in[0].permute({0, 1, 3, 4, 2}) : in[0]).contiguous();
    Tensor y = at::zeros_like(x);
    x.scalar_type() == at::kFloat ? drop<float>(frame, number, origin, x, y)
                                  : drop<double>(frame, number, origin, x, y);
    return Tensors{image ? y.permute({0, 1, 4, 2, 3}) : y};
  };
}

// Rows and columns are the last two dimensions. Values above the diagonal are ignored, whatever they are.
AtenRun causal_mask(const AtenCall&) {
  return [](const Frame& frame, const Tensors& in) {
    const Tensor position = at::arange(in[0].size(-1), frame.real.dtype(at::kLong));
    const Tensor later = position.unsqueeze(0) > position.unsqueeze(1);
    return Tensors{at::where(later, at::full_like(in[0], -std::numeric_limits<double>::infinity()), in[0])};
  };
}

AtenRun scale_by(const AtenCall& call) {
  return [by = call.args.real("by")](const Frame&, const Tensors& in) { return Tensors{in[0] * by}; };
}

void add_activations(AtenTable& table) {
  table["relu"] = elementwise_entry(relu);
  table["relu_grad"] = elementwise_entry(relu_grad);
  table["gelu"] = elementwise_entry(gelu);
  table["gelu_grad"] = elementwise_entry(gelu_grad);
  table["silu"] = elementwise_entry(silu);
  table["silu_grad"] = elementwise_entry(silu_grad);
  table["tanh"] = elementwise_entry([](const Tensors& in) { return at::tanh(in[0].contiguous()); });
  table["tanh_grad"] = elementwise_entry(tanh_grad);
  table["sigmoid"] = elementwise_entry([](const Tensors& in) { return sigmoid_of(in[0]); });
  table["sigmoid_grad"] = elementwise_entry(sigmoid_grad);
  table["hard_swish"] = elementwise_entry(hard_swish);
  table["hard_swish_grad"] = elementwise_entry(hard_swish_grad);
  table["softsign"] = elementwise_entry(softsign);
  table["softsign_grad"] = elementwise_entry(softsign_grad);
  table["gelu_erf"] = elementwise_entry(gelu_erf);
  table["gelu_erf_grad"] = elementwise_entry(gelu_erf_grad);
  table["softplus"] = elementwise_entry(softplus);
  table["softplus_grad"] = elementwise_entry(softplus_grad);
  table["exp"] = elementwise_entry([](const Tensors& in) { return at::exp(in[0]); });
  table["exp_grad"] = elementwise_entry([](const Tensors& in) { return in[1] * in[0]; });
  table["log"] = elementwise_entry([](const Tensors& in) { return in[0].log(); });
  table["log_grad"] = elementwise_entry([](const Tensors& in) { return in[1] / in[0]; });
  table["sqrt"] = elementwise_entry([](const Tensors& in) { return in[0].sqrt(); });
  table["sqrt_grad"] = elementwise_entry([](const Tensors& in) { return in[1] / (in[0] + in[0]); });
  table["leaky_relu"] = leaky_relu;
  table["leaky_relu_grad"] = leaky_relu_grad;
  table["elu"] = elu;
  table["elu_grad"] = elu_grad;
  table["clip"] = clip;
  table["clip_grad"] = clip_grad;
  table["hard_sigmoid"] = hard_sigmoid;
  table["hard_sigmoid_grad"] = hard_sigmoid_grad;
}

}  // namespace

void add_elementwise(AtenTable& table) {
  add_activations(table);
  table["softmax"] = softmax;
  table["softmax_grad"] = softmax_grad;
  table["add"] = elementwise_entry(sum_of_many);
  table["sub"] = elementwise_entry([](const Tensors& in) { return in[0] - in[1]; });
  table["mul"] = elementwise_entry([](const Tensors& in) { return in[0] * in[1]; });
  table["div"] = elementwise_entry([](const Tensors& in) { return in[0] / in[1]; });
  table["negative"] = elementwise_entry([](const Tensors& in) { return in[0] * -1; });
  table["zero"] = elementwise_entry([](const Tensors& in) { return zeros(in[0]); });
  table["scale_by"] = scale_by;
  table["dropout_train"] = dropout_train;
  table["causal_mask"] = causal_mask;
}

}  // namespace lanista::device
