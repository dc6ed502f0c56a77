#include "lanista/nn/torch_oracle.h"

#include <cmath>

#include "lanista/base/check.h"
#include "lanista/nn/torch_operators.h"

namespace lanista::nn::testing {
namespace {

using List = std::vector<std::int64_t>;

List pair_of(const graph::OpArgs& args, std::string_view name) {
  const auto [a, b] = args.pair(name);
  return {a, b};
}

at::Tensor from_floats(const std::vector<float>& values, const graph::Shape& shape, std::int64_t n,
                       at::ScalarType dtype) {
  List dims = shape.dims;
  dims[0] = n;
  return at::tensor(at::ArrayRef<float>(values)).reshape(dims).to(dtype);
}

}  // namespace

at::Tensor to_torch(const Tensor& tensor) {
  const auto type = tensor.type == ElementType::kF32   ? at::kFloat
                    : tensor.type == ElementType::kF64 ? at::kDouble
                                                       : at::kLong;
  return torch::from_blob(const_cast<std::byte*>(tensor.bytes.data()), tensor.shape, type).clone();
}

double scaled_error(const at::Tensor& a, const at::Tensor& b) {
  if (a.numel() == 0) return 0;
  const at::Tensor wide = b.to(at::kDouble);
  const double scale = std::max(1e-3, wide.abs().max().item<double>());
  return (a.to(at::kDouble) - wide).abs().max().item<double>() / scale;
}

TorchModel::TorchModel(const Derived& derived, const std::vector<Tensor>& state, at::ScalarType dtype)
    : derived_(derived), dtype_(dtype), ops_(graph::builtin_ops()) {
  for (const Tensor& tensor : state) {
    if (tensor.name == "step") {
      step_ = elements_of<std::int64_t>(tensor)[0];
    } else if (tensor.name == "seed") {
      seed_ = static_cast<std::uint64_t>(elements_of<std::int64_t>(tensor)[0]);
    } else {
      state_[tensor.name] = to_torch(tensor).to(dtype);
    }
  }
  for (const auto& tensor : derived.train.state) {
    if (tensor.trained) trained_.push_back(tensor.name);
  }
}

at::Tensor TorchModel::mask(const graph::Node& node, double p, const at::Tensor& x, const OwnedBatch& batch) const {
  // Elements are numbered as they lie in a program: channels last.
  const at::Tensor laid_out = x.dim() == 4 ? x.permute({0, 2, 3, 1}) : x;
  at::Tensor keep = at::empty(laid_out.sizes(), at::kDouble);
  const std::int64_t per_sample = x.numel() / x.size(0);
  for (std::int64_t s = 0; s < x.size(0); ++s) {
    for (std::int64_t e = 0; e < per_sample; ++e) {
      keep.data_ptr<double>()[s * per_sample + e] =
          kernels::dropout_keeps({seed_, static_cast<std::uint64_t>(step_), node.id.value},
                                 batch.sample_index[static_cast<std::size_t>(s)], e, p);
    }
  }
  keep = (x.dim() == 4 ? keep.permute({0, 3, 1, 2}) : keep) / (1 - p);
  return keep.to(dtype_);
}

// PyTorch's own multi-head attention; with dropout its formula, since its masks are not ours.
at::Tensor TorchModel::attention(const graph::Node& node, const at::Tensor& x, const OwnedBatch& batch,
                                 bool training) const {
  namespace F = torch::nn::functional;
  const graph::OpArgs args{{}, node.attrs, *ops_.find(node.op)};
  const auto param = [&](const std::string& name) {
    return state_.at("n" + std::to_string(node.id.value) + "." + name);
  };
  const std::int64_t n = x.size(0), t = x.size(1), d = x.size(2), heads = args.integer("heads");
  const at::Tensor unseen = at::full({t, t}, -INFINITY, x.options()).triu(1);
  const double p = training ? args.real("dropout") : 0;
  if (p == 0) {
    auto options =
        F::MultiheadAttentionForwardFuncOptions(d, heads, param("in_proj_weight"), param("in_proj_bias"), {}, {}, false,
                                                0, param("out_proj.weight"), param("out_proj.bias"))
            .training(training)
            .need_weights(false);
    if (args.flag("causal")) options.attn_mask(unseen);
    const at::Tensor by_position = x.transpose(0, 1);
    return std::get<0>(F::multi_head_attention_forward(by_position, by_position, by_position, options)).transpose(0, 1);
  }
  const auto parts = at::linear(x, param("in_proj_weight"), param("in_proj_bias"))
                         .reshape({n, t, 3, heads, d / heads})
                         .permute({2, 0, 3, 1, 4})
                         .unbind();
  const double scale = 1 / std::sqrt(static_cast<double>(d / heads));
  at::Tensor weights = at::matmul(parts[0], parts[1].transpose(-1, -2)) * scale;
  if (args.flag("causal")) weights = weights + unseen;
  weights = at::softmax(weights, -1);
  weights = weights * mask(node, p, weights.unsqueeze(1), batch).squeeze(1);
  const at::Tensor seen = at::matmul(weights, parts[2]).permute({0, 2, 1, 3}).reshape({n, t, d});
  return at::linear(seen, param("out_proj.weight"), param("out_proj.bias"));
}

at::Tensor TorchModel::apply(const graph::Node& node, const std::vector<at::Tensor>& x, const OwnedBatch& batch,
                             bool training) {
  const std::string& op = node.op;
  const graph::OpArgs args{{}, node.attrs, *ops_.find(op)};
  const std::string prefix = "n" + std::to_string(node.id.value) + ".";
  const auto param = [&](const std::string& name) {
    const auto found = state_.find(prefix + name);
    return found == state_.end() ? at::Tensor() : found->second;
  };
  const auto conv = [&](const at::Tensor& value, const std::string& weight, const std::string& bias,
                        std::int64_t groups) {
    return at::conv2d(torch_padded(value, graph::ops::pads_of(args), 0), param(weight), param(bias),
                      pair_of(args, "stride"), List{0, 0}, pair_of(args, "dilation"), groups);
  };
  if (const auto known = torch_window(op, args, x, param)) return *known;
  if (const auto known = torch_elementwise(op, args, x)) return *known;

  if (op == "output" || op == "identity") return x[0];
  if (op == "linear") {
    const at::Tensor y = at::matmul(x[0], param("weight").t());
    return args.flag("bias") ? y + param("bias") : y;
  }
  if (op == "conv2d") return conv(x[0], "weight", "bias", args.integer("groups"));
  if (op == "depthwise_conv2d") return conv(x[0], "weight", "bias", x[0].size(1));
  if (op == "separable_conv2d") {
    return at::conv2d(conv(x[0], "depthwise.weight", "", x[0].size(1)), param("pointwise.weight"),
                      param("pointwise.bias"));
  }
  if (op == "batch_norm") {
    at::Tensor mean = param("running_mean");
    at::Tensor var = param("running_var");
    return at::batch_norm(x[0], param("weight"), param("bias"), mean, var, training, args.real("momentum"),
                          args.real("eps"), false);
  }
  if (op == "layer_norm") {
    const List sizes = x[0].sizes().slice(static_cast<std::size_t>(x[0].dim() - args.integer("axes"))).vec();
    return at::layer_norm(x[0], sizes, param("weight"), param("bias"), args.real("eps"));
  }
  if (op == "group_norm") {
    return at::group_norm(x[0], args.integer("groups"), param("weight"), param("bias"), args.real("eps"), false);
  }
  if (op == "relu") return at::relu(x[0]);
  if (op == "gelu") return at::gelu(x[0], "tanh");
  if (op == "silu") return at::silu(x[0]);
  if (op == "tanh") return at::tanh(x[0]);
  if (op == "sigmoid") return at::sigmoid(x[0]);
  if (op == "zero") return at::zeros_like(x[0]);
  if (op == "softmax") return at::softmax(x[0], args.integer("axis"));
  if (op == "adaptive_avg_pool2d") return at::adaptive_avg_pool2d(x[0], pair_of(args, "out"));
  if (op == "global_avg_pool") return x[0].flatten(2).mean(2);
  if (op == "dropout") return training ? x[0] * mask(node, args.real("p"), x[0], batch) : x[0];
  if (op == "add") {
    at::Tensor sum = x[0];
    for (std::size_t i = 1; i < x.size(); ++i) sum = sum + x[i];
    return sum;
  }
  if (op == "mul") return x[0] * x[1];
  if (op == "concat") return at::cat(x, args.integer("axis"));
  if (op == "flatten") return x[0].flatten(1);
  if (op == "reshape") {
    List shape = args.list("shape");
    shape.insert(shape.begin(), x[0].size(0));
    return x[0].reshape(shape);
  }
  if (op == "transpose") return x[0].permute(args.list("axes"));
  if (op == "pad") {
    const List& pads = args.list("pads");
    return at::constant_pad_nd(x[0], {pads[2], pads[3], pads[0], pads[1]});
  }
  if (op == "matmul") {
    return at::matmul(args.flag("transpose_a") ? x[0].transpose(-1, -2) : x[0],
                      args.flag("transpose_b") ? x[1].transpose(-1, -2) : x[1]);
  }
  if (op == "embedding") {
    const at::Tensor token = x[0].to(at::kLong);
    const at::Tensor known = (token < args.integer("vocab")).unsqueeze(-1);
    return at::embedding(param("weight"), token.clamp_max(args.integer("vocab") - 1)) * known;
  }
  if (op == "positional_embedding") return x[0] + param("weight");
  if (op == "scale_by") return x[0] * args.real("by");
  if (op == "causal_mask") return x[0] + at::full_like(x[0], -1e9).triu(1);
  if (op == "attention") return attention(node, x[0], batch, training);
  if (op == "mean") return x[0].mean(args.list("axes"), args.flag("keep"));
  LANISTA_CHECK(false, "the oracle does not know operator " + op);
  return {};
}

at::Tensor TorchModel::forward(const OwnedBatch& batch, bool training) {
  std::map<graph::NodeId, at::Tensor> values;
  at::Tensor result;
  for (const graph::NodeId id : derived_.model.topo()) {
    const graph::Node& node = derived_.model.node(id);
    if (node.op == "input") {
      values[id] = from_floats(batch.features, derived_.train.types.at(derived_.train.input).shape, batch.size, dtype_);
      continue;
    }
    std::vector<at::Tensor> inputs;
    for (const graph::Port port : node.inputs) inputs.push_back(values.at(port.node));
    values[id] = result = apply(node, inputs, batch, training);
  }
  return result;
}

at::Tensor TorchModel::loss(const OwnedBatch& batch, const LaneHyper& hyper) {
  const at::Tensor prediction = forward(batch, true);
  if (derived_.train.options.loss == step::Loss::kMse) {
    const graph::Shape& shape = derived_.train.types.at(derived_.train.prediction).shape;
    return (prediction - from_floats(batch.targets, shape, batch.size, dtype_)).square().mean();
  }
  const at::Tensor log_p = at::log_softmax(prediction, 1);
  const at::Tensor target = at::tensor(at::ArrayRef<std::int32_t>(batch.labels)).to(at::kLong);
  const at::Tensor own = -log_p.gather(1, target.unsqueeze(1)).squeeze(1);
  const double s = hyper.label_smoothing;
  return ((1 - s) * own - s * log_p.mean(1)).mean();
}

at::Tensor TorchModel::predict(const OwnedBatch& batch) {
  const at::NoGradGuard no_grad;
  return forward(batch, false);
}

Tensors TorchModel::gradients(const OwnedBatch& batch, const LaneHyper& hyper) {
  std::vector<at::Tensor> parameters;
  for (const std::string& name : trained_) {
    state_[name] = state_[name].detach().requires_grad_(true);
    parameters.push_back(state_[name]);
  }
  const auto grads = torch::autograd::grad({loss(batch, hyper)}, parameters, {}, {}, false, true);
  Tensors result;
  for (std::size_t i = 0; i < trained_.size(); ++i) {
    result[trained_[i]] = grads[i];
    state_[trained_[i]] = state_[trained_[i]].detach();
  }
  return result;
}

double TorchModel::step(const OwnedBatch& batch, const LaneHyper& hyper) {
  // The running statistics advance in the pass that the gradients come from.
  std::vector<at::Tensor> parameters;
  for (const std::string& name : trained_) {
    state_[name] = state_[name].detach().requires_grad_(true);
    parameters.push_back(state_[name]);
  }
  const at::Tensor value = loss(batch, hyper);
  const auto grads = torch::autograd::grad({value}, parameters, {}, {}, false, true);
  Tensors named;
  for (std::size_t i = 0; i < trained_.size(); ++i) {
    named[trained_[i]] = grads[i];
    state_[trained_[i]] = state_[trained_[i]].detach();
  }
  update(named, hyper);
  ++step_;
  return value.item<double>();
}

// The formulas of the PyTorch documentation, written out.
void TorchModel::update(const Tensors& gradients, const LaneHyper& hyper) {
  double scale = 1;
  if (hyper.clip_norm > 0) {
    double square = 0;
    for (const auto& [name, g] : gradients) {
      if (g.defined()) square += g.to(at::kDouble).square().sum().item<double>();
    }
    scale = std::min(1.0, hyper.clip_norm / (std::sqrt(square) + 1e-6));
  }
  const auto t = static_cast<double>(step_ + 1);
  for (const auto& [name, raw] : gradients) {
    if (!raw.defined()) continue;
    at::Tensor& p = state_[name];
    at::Tensor g = raw * scale;
    if (derived_.train.options.optimizer == step::Optimizer::kSgd) {
      g = g + hyper.weight_decay * p;
      if (hyper.momentum != 0) {
        at::Tensor& buffer = state_[name + "/momentum"];
        buffer = step_ == 0 ? g : hyper.momentum * buffer + g;
        g = hyper.nesterov ? g + hyper.momentum * buffer : buffer;
      }
      p = p - hyper.lr * g;
      continue;
    }
    if (derived_.train.options.optimizer == step::Optimizer::kAdamW) {
      p = p * (1 - hyper.lr * hyper.weight_decay);
    } else {
      g = g + hyper.weight_decay * p;
    }
    at::Tensor& m = state_[name + "/m"];
    at::Tensor& v = state_[name + "/v"];
    m = hyper.beta1 * m + (1 - hyper.beta1) * g;
    v = hyper.beta2 * v + (1 - hyper.beta2) * g * g;
    const at::Tensor m_hat = m / (1 - std::pow(hyper.beta1, t));
    const at::Tensor v_hat = v / (1 - std::pow(hyper.beta2, t));
    p = p - hyper.lr * m_hat / (v_hat.sqrt() + hyper.eps);
  }
}

}  // namespace lanista::nn::testing
