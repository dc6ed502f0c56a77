#include "support/exec/program/torch_oracle.h"

#include <array>
#include <cmath>
#include <limits>
#include <type_traits>

#include "lanista/base/check.h"
#include "support/exec/program/torch_operators.h"

namespace lanista::program::testing {
namespace {

using List = std::vector<std::int64_t>;

const graph::OpTable& shipped() {
  static const graph::OpTable kOps = graph::builtin_ops();
  return kOps;
}

at::Tensor from_floats(const std::vector<float>& values, at::IntArrayRef shape, at::ScalarType dtype) {
  return at::tensor(at::ArrayRef<float>(values)).reshape(shape).to(dtype);
}

std::string full_name(const graph::Node& node, const std::string& parameter) {
  return "n" + std::to_string(node.id.value) + "." + parameter;
}

// Dropout's masks as documented: Philox words keyed by (trial seed, node, step), then counted by (sample, element);
// 32 neighbouring elements share eight counters, word by word. Written apart from the kernels.
bool keeps(std::uint64_t seed, std::uint64_t node, std::uint64_t step, std::int64_t sample, std::int64_t element,
           double p) {
  const auto key = philox(seed, node, step);
  const std::uint64_t stream = key[0] + (std::uint64_t{key[1]} << 32);
  const std::int64_t block = element / 32, within = element % 32;
  const auto words =
      philox(stream, static_cast<std::uint64_t>(sample), static_cast<std::uint64_t>(block * 8 + within % 8));
  return std::ldexp(words[static_cast<std::size_t>(within / 8)], -32) < 1 - p;
}

// State of LibTorch's optimisers is keyed by the parameter's address, in old versions as a text.
template <class States>
torch::optim::OptimizerParamState* state_of(States& states, const at::Tensor& parameter) {
  const auto found = [&] {
    if constexpr (std::is_same_v<typename std::remove_reference_t<States>::key_type, std::string>) {
      return states.find(c10::guts::to_string(parameter.unsafeGetTensorImpl()));
    } else {
      return states.find(parameter.unsafeGetTensorImpl());
    }
  }();
  return found == states.end() ? nullptr : found->second.get();
}

// One of LibTorch's optimisers. `set` writes the hyper-parameters of a lane into its options, `read` returns its state.
template <class Optimizer, class Options, class State>
class TorchOptimizer : public OracleOptimizer {
 public:
  using Set = void (*)(Options&, const LaneHyper&);
  using Read = Tensors (*)(const State&);
  TorchOptimizer(const std::vector<at::Tensor>& parameters, const Options& first, Set set, Read read)
      : optimizer_(parameters, first), set_(set), read_(read) {}

  void step(const LaneHyper& hyper) override {
    set_(static_cast<Options&>(optimizer_.param_groups()[0].options()), hyper);
    optimizer_.step();
  }
  Tensors slots(const at::Tensor& parameter) const override {
    const auto* kept = state_of(const_cast<Optimizer&>(optimizer_).state(), parameter);
    return kept == nullptr ? Tensors() : read_(static_cast<const State&>(*kept));
  }

 private:
  Optimizer optimizer_;
  Set set_;
  Read read_;
};

using namespace torch::optim;
using Parameters = std::vector<at::Tensor>;

void set_sgd(SGDOptions& options, const LaneHyper& hyper) {
  options.lr(hyper.lr).momentum(hyper.momentum).nesterov(hyper.nesterov).weight_decay(hyper.weight_decay);
}
Tensors slots_of_sgd(const SGDParamState& state) {
  return state.momentum_buffer().defined() ? Tensors{{"momentum", state.momentum_buffer()}} : Tensors();
}
template <class Options>
void set_adam(Options& options, const LaneHyper& hyper) {
  options.lr(hyper.lr).betas({hyper.beta1, hyper.beta2}).eps(hyper.eps).weight_decay(hyper.weight_decay);
}
template <class State>
Tensors slots_of_adam(const State& state) {
  return {{"m", state.exp_avg()}, {"v", state.exp_avg_sq()}};
}

void set_rmsprop(RMSpropOptions& options, const LaneHyper& hyper) {
  options.lr(hyper.lr).alpha(hyper.beta2).eps(hyper.eps).momentum(hyper.momentum).weight_decay(hyper.weight_decay);
}
Tensors slots_of_rmsprop(const RMSpropParamState& state) {
  Tensors slots{{"v", state.square_avg()}};
  if (state.momentum_buffer().defined()) slots.emplace("momentum", state.momentum_buffer());
  return slots;
}

// As defined in its paper (Chen et al. 2023, algorithm 2); LibTorch has no such optimiser.
class Lion : public OracleOptimizer {
 public:
  explicit Lion(const Parameters& parameters) : parameters_(parameters), momentum_(parameters.size()) {}

  void step(const LaneHyper& hyper) override {
    const at::NoGradGuard no_grad;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      at::Tensor p = parameters_[i];
      const at::Tensor g = p.grad();
      if (!g.defined()) continue;
      at::Tensor& m = momentum_[i];
      if (!m.defined()) m = at::zeros_like(p);
      const at::Tensor update = at::sign(m * hyper.beta1 + g * (1 - hyper.beta1));
      p.sub_((update + p * hyper.weight_decay) * hyper.lr);
      m = m * hyper.beta2 + g * (1 - hyper.beta2);
    }
  }
  Tensors slots(const at::Tensor& parameter) const override {
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      if (parameters_[i].is_same(parameter) && momentum_[i].defined()) return {{"m", momentum_[i]}};
    }
    return {};
  }

 private:
  Parameters parameters_, momentum_;
};

using Make = std::unique_ptr<OracleOptimizer> (*)(const Parameters&);

const std::map<std::string, Make>& oracle_optimizers() {
  static const std::map<std::string, Make> kAll{
      {"sgd",
       [](const Parameters& all) -> std::unique_ptr<OracleOptimizer> {
         return std::make_unique<TorchOptimizer<SGD, SGDOptions, SGDParamState>>(all, SGDOptions(1), set_sgd,
                                                                                 slots_of_sgd);
       }},
      {"adam",
       [](const Parameters& all) -> std::unique_ptr<OracleOptimizer> {
         return std::make_unique<TorchOptimizer<Adam, AdamOptions, AdamParamState>>(
             all, AdamOptions(), set_adam<AdamOptions>, slots_of_adam<AdamParamState>);
       }},
      {"adamw",
       [](const Parameters& all) -> std::unique_ptr<OracleOptimizer> {
         return std::make_unique<TorchOptimizer<AdamW, AdamWOptions, AdamWParamState>>(
             all, AdamWOptions(), set_adam<AdamWOptions>, slots_of_adam<AdamWParamState>);
       }},
      {"lion", [](const Parameters& all) -> std::unique_ptr<OracleOptimizer> { return std::make_unique<Lion>(all); }},
      {"rmsprop",
       [](const Parameters& all) -> std::unique_ptr<OracleOptimizer> {
         return std::make_unique<TorchOptimizer<RMSprop, RMSpropOptions, RMSpropParamState>>(
             all, RMSpropOptions(), set_rmsprop, slots_of_rmsprop);
       }},
  };
  return kAll;
}

// The mean loss of a batch.
using LossRule = at::Tensor (*)(const at::Tensor& prediction, const OwnedBatch& batch, const LaneHyper& hyper);

/// The loss of each sample: the mean over its predictions.
at::Tensor by_sample(const at::Tensor& losses) { return losses.reshape({losses.size(0), -1}).mean(1); }

at::Tensor targets_of(const at::Tensor& prediction, const OwnedBatch& batch) {
  return from_floats(batch.targets, prediction.sizes(), prediction.scalar_type());
}

const std::map<std::string, LossRule>& oracle_losses() {
  static const std::map<std::string, LossRule> kAll{
      {"cross_entropy",
       [](const at::Tensor& prediction, const OwnedBatch& batch, const LaneHyper& hyper) {
         namespace F = torch::nn::functional;
         const at::Tensor labels = at::tensor(at::ArrayRef<std::int32_t>(batch.labels)).to(at::kLong);
         const auto options =
             F::CrossEntropyFuncOptions().label_smoothing(hyper.label_smoothing).reduction(torch::kNone);
         // Positions are images' pixels to LibTorch: classes stand before them.
         if (prediction.dim() == 2) return F::cross_entropy(prediction, labels, options);
         return by_sample(F::cross_entropy(prediction.transpose(1, 2),
                                           labels.reshape({prediction.size(0), prediction.size(1)}), options));
       }},
      {"focal",
       [](const at::Tensor& prediction, const OwnedBatch& batch, const LaneHyper& hyper) {
         const at::Tensor labels = at::tensor(at::ArrayRef<std::int32_t>(batch.labels)).to(at::kLong);
         const at::Tensor logs = at::log_softmax(prediction, -1);
         const double soft = hyper.label_smoothing / static_cast<double>(prediction.size(-1));
         const at::Tensor share = at::one_hot(labels, prediction.size(-1)).reshape(prediction.sizes()).to(logs) *
                                      (1 - hyper.label_smoothing) +
                                  soft;
         return by_sample(-(share * (1 - logs.exp()).square() * logs).sum(-1).reshape({prediction.size(0), -1}));
       }},
      {"mse",
       [](const at::Tensor& prediction, const OwnedBatch& batch, const LaneHyper&) {
         return by_sample(at::mse_loss(prediction, targets_of(prediction, batch), at::Reduction::None));
       }},
      {"mae",
       [](const at::Tensor& prediction, const OwnedBatch& batch, const LaneHyper&) {
         return by_sample(at::l1_loss(prediction, targets_of(prediction, batch), at::Reduction::None));
       }},
      {"huber",
       [](const at::Tensor& prediction, const OwnedBatch& batch, const LaneHyper&) {
         return by_sample(at::huber_loss(prediction, targets_of(prediction, batch), at::Reduction::None));
       }},
      {"bce",
       [](const at::Tensor& prediction, const OwnedBatch& batch, const LaneHyper&) {
         return by_sample(at::binary_cross_entropy_with_logits(prediction, targets_of(prediction, batch), {}, {},
                                                               at::Reduction::None));
       }},
  };
  return kAll;
}

template <class Table>
const auto& known_to_oracle(const Table& table, const std::string& kind, const std::string& name) {
  const auto found = table.find(name);
  LANISTA_CHECK(found != table.end(), "the oracle does not know " + kind + " " + name);
  return found->second;
}

}  // namespace

at::Tensor to_torch(const Tensor& tensor) {
  const auto type = tensor.type == ElementType::kF32   ? at::kFloat
                    : tensor.type == ElementType::kF64 ? at::kDouble
                                                       : at::kLong;
  return torch::from_blob(const_cast<std::byte*>(tensor.bytes.data()), tensor.shape, type).clone();
}

double scaled_error(const at::Tensor& a, const at::Tensor& b, double least) {
  if (a.numel() == 0) return 0;
  const at::Tensor seen = a.to(at::kDouble), wanted = b.to(at::kDouble);
  const at::Tensor finite = at::isfinite(wanted);
  if (!at::equal(finite, at::isfinite(seen))) return std::numeric_limits<double>::infinity();
  const at::Tensor zero = at::zeros_like(wanted);
  const double scale = std::max(least, at::where(finite, wanted, zero).abs().max().item<double>());
  const double distance = at::where(finite, seen - wanted, zero).abs().max().item<double>();
  return distance == 0 ? 0 : distance / scale;
}

TorchModel::TorchModel(const Derived& derived, const std::vector<Tensor>& state, at::ScalarType dtype)
    : model_(derived.model), options_(derived.train.options), dtype_(dtype), ops_(shipped()) {
  std::map<std::string, bool> trained;
  const auto specs = graph::parameters(model_, ops_);
  LANISTA_CHECK(specs.ok(), specs ? "" : specs.error().text());
  for (const graph::NamedParam& param : *specs) trained[param.name] = param.spec.trained;
  for (const Tensor& tensor : state) {
    if (tensor.name == "step") {
      step_ = elements_of<std::int64_t>(tensor)[0];
    } else if (tensor.name == "seed") {
      seed_ = static_cast<std::uint64_t>(elements_of<std::int64_t>(tensor)[0]);
    } else if (trained.contains(tensor.name)) {
      tensors_[tensor.name] = to_torch(tensor).to(dtype).requires_grad_(trained.at(tensor.name));
    }
  }
  LANISTA_CHECK(tensors_.size() == trained.size(), "the state lacks a tensor of the model");
  for (const auto& [name, is_trained] : trained) {
    if (is_trained) trained_.push_back(name);
  }
  optimizer_ = known_to_oracle(oracle_optimizers(), "optimizer", options_.optimizer)(parameters());
}

void TorchModel::disturb(double size, std::uint64_t seed) {
  disturbance_ = size;
  noise_ = Rng(seed);
}

std::vector<at::Tensor> TorchModel::parameters() const {
  std::vector<at::Tensor> all;
  for (const std::string& name : trained_) all.push_back(tensors_.at(name));
  return all;
}

at::Tensor TorchModel::rounded(const at::Tensor& value) {
  if (disturbance_ == 0 || !value.is_floating_point()) return value;
  std::vector<double> factors(static_cast<std::size_t>(value.numel()));
  for (double& factor : factors) factor = 1 + noise_.uniform(-disturbance_, disturbance_);
  return value * at::tensor(factors).reshape(value.sizes()).to(value.scalar_type());
}

at::Tensor TorchModel::mask(const graph::Node& node, double p, const at::Tensor& x, const OwnedBatch& batch) const {
  // Elements are numbered in the memory order of a program: channels last.
  const at::Tensor laid_out = x.dim() == 4 ? x.permute({0, 2, 3, 1}) : x;
  at::Tensor keep = at::empty(laid_out.sizes(), at::kDouble);
  const std::int64_t per_sample = x.numel() / x.size(0);
  for (std::int64_t s = 0; s < x.size(0); ++s) {
    for (std::int64_t e = 0; e < per_sample; ++e) {
      keep.data_ptr<double>()[s * per_sample + e] = keeps(seed_, node.id.value, static_cast<std::uint64_t>(step_),
                                                          batch.sample_index[static_cast<std::size_t>(s)], e, p)
                                                        ? 1 / (1 - p)
                                                        : 0;
    }
  }
  return (x.dim() == 4 ? keep.permute({0, 3, 1, 2}) : keep).to(dtype_);
}

std::vector<at::Tensor> TorchModel::apply(const graph::Node& node, const Values& values, const OwnedBatch& batch,
                                          bool training) {
  const auto rule = torch_operators().find(node.op);
  LANISTA_CHECK(rule != torch_operators().end(), "the oracle does not know operator " + node.op);
  graph::Attrs attrs = node.attrs;
  for (const auto& [number, value] : numbers_) {
    // Inside attention, the attribute of the dropout probability is named as in dropout.
    if (number.first == node.id) attrs.set(node.op == "attention" ? "dropout" : number.second, value);
  }
  const graph::OpArgs args{{}, attrs, *ops_.find(node.op)};
  std::vector<at::Tensor> inputs;
  for (const graph::Port port : node.inputs) inputs.push_back(values.at(port));
  const std::function<at::Tensor(const std::string&)> param = [&](const std::string& name) {
    const auto found = tensors_.find(full_name(node, name));
    if (found == tensors_.end()) return at::Tensor();
    return found->second.requires_grad() ? rounded(found->second) : found->second;
  };
  const std::function<at::Tensor(const at::Tensor&, double)> sample_mask = [&](const at::Tensor& x, double p) {
    return mask(node, p, x, batch);
  };
  std::function<at::Tensor(const at::Tensor&)> off;
  if (disturbance_ != 0) off = [&](const at::Tensor& value) { return rounded(value); };
  return rule->second({args, inputs, param, sample_mask, off, training});
}

at::Tensor TorchModel::features(const graph::Node& input, const OwnedBatch& batch) const {
  List shape = std::get<List>(*input.attrs.find("shape"));
  shape.insert(shape.begin(), batch.size);
  return from_floats(batch.features, shape, dtype_);
}

at::Tensor TorchModel::forward(const OwnedBatch& batch, bool training) {
  Values values;
  at::Tensor result;
  for (const graph::NodeId id : model_.topo()) {
    const graph::Node& node = model_.node(id);
    if (node.op == "input") {
      values[{id}] = features(node, batch);
      continue;
    }
    const auto outputs = apply(node, values, batch, training);
    for (std::uint32_t slot = 0; slot < outputs.size(); ++slot) values[{id, slot}] = rounded(outputs[slot]);
    if (node.op == "output") result = values[{id}];
  }
  return result;
}

at::Tensor TorchModel::loss(const OwnedBatch& batch, const LaneHyper& hyper) {
  const LossRule rule = known_to_oracle(oracle_losses(), "loss", options_.loss);
  at::Tensor losses = rule(forward(batch, true), batch, hyper);
  if (!batch.weights.empty()) losses = losses * at::tensor(at::ArrayRef<float>(batch.weights)).to(losses);
  return losses.mean();
}

at::Tensor TorchModel::predict(const OwnedBatch& batch) {
  const at::NoGradGuard no_grad;
  return forward(batch, false);
}

void TorchModel::backward(const at::Tensor& loss) {
  for (const at::Tensor& parameter : parameters()) parameter.mutable_grad() = at::Tensor();
  if (loss.requires_grad()) loss.backward();
}

Tensors TorchModel::gradients(const OwnedBatch& batch, const LaneHyper& hyper) {
  backward(loss(batch, hyper));
  Tensors result;
  for (const std::string& name : trained_) result[name] = tensors_.at(name).grad();
  return result;
}

double TorchModel::step(const OwnedBatch& batch, const LaneHyper& hyper) {
  LANISTA_CHECK(step_ == steps_here_, "the oracle's optimiser starts with a fresh lane");
  const at::Tensor value = loss(batch, hyper);
  backward(value);
  if (hyper.clip_norm > 0) torch::nn::utils::clip_grad_norm_(parameters(), hyper.clip_norm);
  optimizer_->step(hyper);
  ++step_, ++steps_here_;
  return value.item<double>();
}

void TorchModel::set(const std::string& name, const at::Tensor& value) {
  const at::NoGradGuard no_grad;
  tensors_.at(name).copy_(value);
}

Tensors TorchModel::state() const {
  Tensors all;
  for (const auto& [name, tensor] : tensors_) all[name] = tensor.detach();
  for (const std::string& name : trained_) {
    for (const auto& [slot, value] : optimizer_->slots(tensors_.at(name))) all[name + "/" + slot] = value;
  }
  return all;
}

}  // namespace lanista::program::testing
