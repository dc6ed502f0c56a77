#include "compare.h"

#include <torch/torch.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <exception>

#include "lanista/base/check.h"
#include "lanista/exec/program/backend.h"
#include "lanista/model/autodiff/optimizer.h"
#include "lanista/model/graph/text.h"
#include "support/exec/program/torch_oracle.h"

namespace lanista::oracle {
namespace {

using program::testing::Derived;
using program::testing::Tensors;
using program::testing::TorchModel;

constexpr double kTolerance = 1e-10;
constexpr double kDisturbance = 1e-15;
constexpr double kMargin = 100;
constexpr std::uint64_t kDisturbedRuns = 6;
// The scale of a tensor is its largest element, and at least this share of the largest element of its kind in the
// model. Some gradients are zero in exact arithmetic, such as that of a bias before a normalisation. They consist of
// rounding only and give no scale. Second moments are squares.
constexpr double kMinShare = 1e-3, kMinShareOfSquares = 1e-6;
constexpr double kMinScale = 1e-30;
// An argument of Lion's sign is only rounding if it is below this share of the largest argument in the model.
constexpr double kUndecided = 1e-11;
// Whether sums of larger values overflow may depend on their summation order.
constexpr double kRange = 1e300;

const std::string& optimizer_named(std::size_t kind) { return autodiff::optimizers()[kind].name; }

at::Tensor scalar(double value) { return at::tensor(std::vector<double>{value}); }

/// A case with its steps for one optimiser.
struct Setup {
  const Case& c;
  Derived derived;
  CaseInputs inputs;
  std::size_t optimizer;
  const program::Backend& backend;

  Setup(const Case& each, std::size_t kind, const program::Backend* device)
      : c(each),
        derived(program::testing::derive({each.origin, graph::to_text(each.model), each.loss}, optimizer_named(kind))),
        inputs(inputs_of(each, derived)),
        optimizer(kind),
        backend(device != nullptr ? *device : program::cpu_backend(inputs.isa)) {
    if (device != nullptr) inputs.shards = inputs.accumulate = 1;  // only the CPU divides batches
  }

  std::string name(const std::string& what) const { return optimizer_named(optimizer) + " " + what; }
  bool takes_signs() const { return optimizer_named(optimizer) == "lion"; }
};

/// A program with perturbed_state(), and the attribute values of its lane.
struct LanistaRun {
  program::Program program;
  std::vector<Tensor> start;
  std::vector<double> lane_attrs;

  explicit LanistaRun(const Setup& setup)
      : program(program::testing::compile(setup.derived, {.max_batch = setup.inputs.max_batch,
                                                          .shards = setup.inputs.shards,
                                                          .accumulate = setup.inputs.accumulate,
                                                          .precision = Precision::kFloat64,
                                                          .backend = &setup.backend})) {
    program.initialise(0, setup.inputs.trial_seed);
    start = perturbed_state(setup.c, program.extract(0));
    reset();
    if (!setup.inputs.lane_attr_values) return;
    for (const program::LaneAttr& number : program.lane_attrs()) lane_attrs.push_back(number_of(setup.c, number));
  }

  void reset() {
    const auto put = program.insert(0, start);
    LANISTA_CHECK(put.ok(), put ? "" : put.error().text());
  }

  double step(const program::testing::OwnedBatch& batch, program::LaneHyper hyper) {
    hyper.lane_attrs = lane_attrs;
    return program::testing::step_once(program, batch, hyper);
  }

  at::Tensor predict(const program::testing::OwnedBatch& batch) {
    std::vector<double> all(static_cast<std::size_t>(batch.size * program.prediction_size()));
    program.predict(0, batch.view(), std::span<double>(all));
    return at::tensor(all);
  }
};

TorchModel oracle_of(const Setup& setup, const LanistaRun& ours) {
  TorchModel oracle(setup.derived, ours.start, at::kDouble);
  for (std::size_t i = 0; i < ours.lane_attrs.size(); ++i) {
    const program::LaneAttr& number = ours.program.lane_attrs()[i];
    oracle.set_number(number.node, number.attr, ours.lane_attrs[i]);
  }
  return oracle;
}

// With momentum only, the momentum after one step is the gradient.
constexpr program::LaneHyper kGradientStep{.lr = 0.1, .momentum = 0.5};

constexpr std::size_t kSteps = 3;

// The parameters after each step, by name.
using Steps = std::array<Tensors, kSteps>;

void watch_program(const Setup& setup, LanistaRun& ours, Tensors& seen, Steps& steps) {
  const auto& batches = setup.inputs.batches;
  if (setup.optimizer == 0) {
    seen["prediction at first"] = ours.predict(batches[3]);
    program::LaneHyper hyper = kGradientStep;
    hyper.label_smoothing = setup.inputs.hyper[0][0].label_smoothing;
    seen["loss"] = scalar(ours.step(batches[0], hyper));
    for (const Tensor& tensor : ours.program.extract(0)) {
      if (!tensor.name.ends_with("/momentum")) continue;
      seen["gradient of " + tensor.name.substr(0, tensor.name.find('/'))] = program::testing::to_torch(tensor);
    }
    ours.reset();
  }
  for (std::size_t i = 0; i < kSteps; ++i) {
    const double loss = ours.step(batches[i], setup.inputs.hyper[setup.optimizer][i]);
    seen[setup.name("loss " + std::to_string(i))] = scalar(loss);
    if (!setup.takes_signs()) continue;
    for (const Tensor& tensor : ours.program.extract(0)) {
      if (tensor.type == ElementType::kF64) steps[i][tensor.name] = program::testing::to_torch(tensor).clone();
    }
  }
  for (const Tensor& tensor : ours.program.extract(0)) {
    if (tensor.type == ElementType::kF64) seen[setup.name(tensor.name)] = program::testing::to_torch(tensor);
  }
  seen[setup.name("prediction")] = ours.predict(batches[3]);
}

double largest(const at::Tensor& value) {
  return value.numel() == 0 ? 0 : at::nan_to_num(value, 0, 0, 0).abs().max().item<double>();
}

// Returns the argument of Lion's sign by tensor, from its momentum before and after the step: m' = b2 m + (1 - b2) g.
Tensors arguments_of_signs(const Tensors& before, const Tensors& after, const program::LaneHyper& hyper) {
  Tensors out;
  for (const auto& [name, moved] : after) {
    if (!name.ends_with("/m")) continue;
    const auto found = before.find(name);
    const at::Tensor m = found == before.end() ? at::zeros_like(moved) : found->second;
    const at::Tensor gradient = (moved - m * hyper.beta2) / (1 - hyper.beta2);
    out[name.substr(0, name.size() - 2)] = m * hyper.beta1 + gradient * (1 - hyper.beta1);
  }
  return out;
}

// Runs one step of Lion with the program's parameters wherever the argument of the sign is only rounding. An argument
// of exactly zero, as for tokens that do not occur, has no sign in either. Returns the loss.
double step_with_signs_of(const Tensors& program, TorchModel& oracle, const program::testing::OwnedBatch& batch,
                          const program::LaneHyper& hyper) {
  Tensors before;
  for (const auto& [name, value] : oracle.state()) before[name] = value.clone();
  const double loss = oracle.step(batch, hyper);
  const Tensors after = oracle.state();
  const Tensors arguments = arguments_of_signs(before, after, hyper);
  double most = 0;
  for (const auto& [name, argument] : arguments) most = std::max(most, largest(argument));
  for (const auto& [name, argument] : arguments) {
    const at::Tensor& own = after.at(name);
    const at::Tensor undecided = (argument.abs() <= kUndecided * most).logical_and(argument != 0);
    oracle.set(name, at::where(undecided, program.at(name).reshape(own.sizes()), own));
  }
  return loss;
}

// Writes the oracle's values to `seen`. `steps` are those of the program if the oracle must use its signs, else null.
void watch_oracle(const Setup& setup, const LanistaRun& ours, double disturbance, std::uint64_t noise,
                  const Steps* steps, Tensors& seen) {
  const auto& batches = setup.inputs.batches;
  const auto& hyper = setup.inputs.hyper[setup.optimizer];
  TorchModel oracle = oracle_of(setup, ours);
  oracle.disturb(disturbance, noise);
  if (setup.optimizer == 0) {
    TorchModel once = oracle_of(setup, ours);
    once.disturb(disturbance, noise + 1);
    seen["prediction at first"] = once.predict(batches[3]).reshape({-1});
    seen["loss"] = once.loss(batches[0], hyper[0]).detach().reshape({1});
    const Tensors before = once.state();
    for (const auto& [name, gradient] : once.gradients(batches[0], hyper[0])) {
      seen["gradient of " + name] = gradient.defined() ? gradient : at::zeros_like(before.at(name));
    }
  }
  for (std::size_t i = 0; i < kSteps; ++i) {
    const double loss = steps != nullptr ? step_with_signs_of((*steps)[i], oracle, batches[i], hyper[i])
                                         : oracle.step(batches[i], hyper[i]);
    seen[setup.name("loss " + std::to_string(i))] = scalar(loss);
  }
  for (const auto& [name, value] : oracle.state()) seen[setup.name(name)] = value.clone();
  seen[setup.name("prediction")] = oracle.predict(batches[3]).reshape({-1});
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

std::string first_difference(const at::Tensor& ours, const at::Tensor& expected_values, double allowed) {
  const at::Tensor a = ours.contiguous().reshape({-1}), b = expected_values.contiguous().reshape({-1});
  for (std::int64_t i = 0; i < b.numel(); ++i) {
    const double x = a[i].item<double>(), y = b[i].item<double>();
    if (std::abs(x - y) <= allowed || (std::isnan(x) && std::isnan(y)) || x == y) continue;
    return "element " + std::to_string(i) + " is " + number(x) + " instead of " + number(y);
  }
  return "no element alone";
}

// Returns the kind of a value, such as "gradient", "sgd momentum", "adam v", "adam value".
std::string kind_of(const std::string& name) {
  if (name.starts_with("gradient")) return "gradient";
  const std::size_t slot = name.find('/');
  return name.substr(0, name.find(' ')) + (slot == std::string::npos ? " value" : name.substr(slot));
}

/// The values of program and oracle for one optimiser.
class Comparison {
 public:
  explicit Comparison(const Setup& setup) : setup_(setup), lanista_run_(setup) {
    watch_program(setup_, lanista_run_, seen_, steps_);
    watch_oracle(setup_, lanista_run_, 0, 0, nullptr, expected_);
  }

  std::optional<Difference> run(ComparisonCounts& counts) {
    for (const auto& [name, value] : expected_) {
      if (!of_state(name)) continue;
      const double share = name.ends_with("/v") ? kMinShareOfSquares : kMinShare;
      least_[kind_of(name)] = std::max(least_[kind_of(name)], share * largest(value));
    }
    for (const auto& [name, value] : seen_) {
      at::Tensor expected;
      if (expected_.contains(name)) {
        expected = expected_.at(name);
      } else if (name.find('/') != std::string::npos) {
        expected = at::zeros_like(value);  // optimiser state of a parameter without a gradient
      } else {
        return Difference{name, "the oracle has no such value"};
      }
      if (const auto found = check(name, value, expected.reshape(value.sizes()), counts)) return found;
    }
    for (const auto& [name, value] : expected_) {
      if (!seen_.contains(name)) return Difference{name, "the program has no such value"};
    }
    return std::nullopt;
  }

  bool ill_conditioned() const { return ill_conditioned_; }
  bool not_finite() const { return not_finite_; }

 private:
  std::optional<Difference> check(const std::string& name, at::Tensor value, const at::Tensor& expected,
                                  ComparisonCounts& counts) {
    ++counts.values;
    if (is_after_divergence(name)) {
      const at::Tensor overflows = (expected.abs() >= kRange).logical_and(at::isfinite(value).logical_not());
      value = at::where(at::isfinite(expected).logical_and(overflows.logical_not()), value, expected);
    }
    not_finite_ = not_finite_ || !at::isfinite(expected).all().item<bool>();
    double error = program::testing::scaled_error(value, expected, least(name));
    if (error <= kTolerance) {
      counts.worst = std::max(counts.worst, error);
      return std::nullopt;
    }
    const at::Tensor& judge = with_own_signs(name, expected);
    error = program::testing::scaled_error(value, judge.reshape(value.sizes()), least(name));
    const double rounding = kMargin * rounding_of(name, judge);
    if (error <= std::max(kTolerance, rounding)) {
      ill_conditioned_ = true;
      return std::nullopt;
    }
    const double scale = std::max(least(name), largest(expected));
    std::string sizes;
    for (const auto& batch : setup_.inputs.batches) sizes += " " + std::to_string(batch.size);
    return Difference{name, "batches of" + sizes + " in " + std::to_string(setup_.inputs.shards) + " x " +
                                std::to_string(setup_.inputs.accumulate) + " parts, " +
                                std::string(setup_.backend.name()) + ": off by " + number(error) +
                                " of its largest element, rounding may do " + number(rounding) + "; " +
                                first_difference(value, judge, std::max(kTolerance, rounding) * scale)};
  }

  // Returns whether an earlier loss is NaN or infinite in both. Elements that are not finite in the oracle are then not
  // compared: where only padding meets a weight, the oracle multiplies NaN by zero, and the program adds no terms.
  bool is_after_divergence(const std::string& name) const {
    const auto lost = [&](const std::string& loss) {
      const auto found = expected_.find(loss);
      return found != expected_.end() && !at::isfinite(found->second).all().item<bool>();
    };
    if (name.starts_with("gradient")) return lost("loss");
    for (std::size_t i = 0; i < kSteps; ++i) {
      const std::string loss = setup_.name("loss " + std::to_string(i));
      if (name == loss) return false;
      if (name.starts_with(optimizer_named(setup_.optimizer)) && lost(loss)) return true;
    }
    return false;
  }

  // Returns whether a name is that of a parameter, a buffer, their gradient or optimiser state.
  static bool of_state(const std::string& name) { return name.find('.') != std::string::npos; }
  double least(const std::string& name) const {
    // A loss is a difference of logarithms near one, even if it is small.
    if (name.find("loss") != std::string::npos) return kMinShare;
    const auto found = of_state(name) ? least_.find(kind_of(name)) : least_.end();
    return found == least_.end() ? kMinScale : std::max(kMinScale, found->second);
  }

  // Returns the oracle's value with the signs of the program where Lion's sign is only rounding; for other optimisers,
  // returns `expected`.
  const at::Tensor& with_own_signs(const std::string& name, const at::Tensor& expected) {
    if (!setup_.takes_signs()) return expected;
    if (signed_.empty()) watch_oracle(setup_, lanista_run_, 0, 0, &steps_, signed_);
    const auto found = signed_.find(name);
    return found == signed_.end() ? expected : found->second;
  }

  // Returns the largest scaled change of the oracle's value through small errors in all its values.
  double rounding_of(const std::string& name, const at::Tensor& expected) {
    if (disturbed_.empty()) {
      const Steps* signs = setup_.takes_signs() ? &steps_ : nullptr;
      for (std::uint64_t i = 0; i < kDisturbedRuns; ++i) {
        watch_oracle(setup_, lanista_run_, kDisturbance, setup_.c.seed + 2 * i, signs, disturbed_.emplace_back());
      }
    }
    double most = 0;
    for (const Tensors& each : disturbed_) {
      const auto found = each.find(name);
      if (found == each.end()) return 0;
      most = std::max(most,
                      program::testing::scaled_error(found->second.reshape(expected.sizes()), expected, least(name)));
    }
    return most;
  }

  const Setup& setup_;
  LanistaRun lanista_run_;
  Tensors seen_, expected_, signed_;
  Steps steps_;  // steps of the program
  std::vector<Tensors> disturbed_;
  std::map<std::string, double> least_;  // scale by kind
  bool ill_conditioned_ = false, not_finite_ = false;
};

}  // namespace

std::optional<Difference> compare(const Case& c, ComparisonCounts& counts, const program::Backend* device) {
  ++counts.models;
  bool ill_conditioned = false, not_finite = false;
  std::optional<Difference> found;
  try {
    for (std::size_t kind = 0; kind < autodiff::optimizers().size() && !found; ++kind) {
      const Setup setup(c, kind, device);
      Comparison comparison(setup);
      found = comparison.run(counts);
      ill_conditioned = ill_conditioned || comparison.ill_conditioned();
      not_finite = not_finite || comparison.not_finite();
    }
  } catch (const std::exception& error) {
    const std::string text = error.what();  // LibTorch appends a stack trace
    return Difference{"exception", text.substr(0, text.find('\n'))};
  }
  counts.ill_conditioned += ill_conditioned ? 1 : 0;
  counts.not_finite += not_finite ? 1 : 0;
  return found;
}

}  // namespace lanista::oracle
