#include "lanista/bench/train_step.h"

#include <array>
#include <cmath>
#include <ostream>

#include "lanista/base/rng.h"
#include "lanista/bench/arms.h"
#include "lanista/bench/torch_loop.h"
#include "lanista/mutate/model_space.h"
#include "lanista/nn/program.h"
#include "lanista/step/training_step.h"

namespace lanista::bench {
namespace {

constexpr std::int64_t kBatch = 32;
constexpr double kRate = 0.05;
constexpr double kMomentum = 0.9;
constexpr int kAgreementSteps = 20;

/// The same batch for every arm: random images, random labels.
struct Inputs {
  std::vector<float> x;
  std::vector<std::int32_t> labels;
  std::vector<std::int64_t> rows;
  at::Tensor torch_x, torch_labels;

  Inputs() : x(kBatch * 64), labels(kBatch), rows(kBatch) {
    Rng rng(7);
    for (float& value : x) value = static_cast<float>(rng.normal());
    for (std::size_t i = 0; i < labels.size(); ++i) {
      labels[i] = static_cast<std::int32_t>(rng.below(10));
      rows[i] = static_cast<std::int64_t>(i);
    }
    torch_x = torch::from_blob(x.data(), {kBatch, 1, 8, 8}, torch::kFloat32).clone();
    torch_labels = torch::from_blob(labels.data(), {kBatch}, torch::kInt32).to(torch::kInt64);
  }

  nn::Batch batch() const {
    return {.size = kBatch, .features = x, .labels = labels, .targets = {}, .sample_index = rows};
  }
};

/// Our program with one lane.
class Ours {
 public:
  static Result<Ours> make(const graph::Graph& model) {
    const auto ops = step::training_ops(graph::builtin_ops());
    LANISTA_ASSIGN(const auto train, step::derive_training_step(model, {}, ops));
    LANISTA_ASSIGN(const auto infer, step::derive_inference_step(model, ops));
    LANISTA_ASSIGN(auto program, nn::Program::compile(train, infer, {.max_batch = kBatch}));
    program.initialise(0, 1);
    Ours out(std::move(program));
    for (const auto& tensor : out.program_.extract(0)) {
      if (tensor.type == ElementType::kF32 && tensor.name.find('/') == std::string::npos) out.params_.push_back(tensor);
    }
    return out;
  }

  const std::vector<Tensor>& params() const { return params_; }
  double step(const nn::Batch& batch) {
    program_.train_step(std::span(&batch, 1), hyper_, active_, loss_);
    return loss_[0];
  }

 private:
  explicit Ours(nn::Program program) : program_(std::move(program)) {}
  nn::Program program_;
  std::vector<Tensor> params_;
  std::array<nn::LaneHyper, 1> hyper_{nn::LaneHyper{.lr = kRate, .momentum = kMomentum}};
  std::array<std::uint8_t, 1> active_{1};
  std::array<double, 1> loss_{};
};

template <class Step>
Arm timed(const std::string& name, int steps, Step step) {
  return {name, [=] {
            for (int i = 0; i < steps / 10; ++i) step();
            const double begin = now_seconds();
            for (int i = 0; i < steps; ++i) step();
            return (now_seconds() - begin) / steps * 1e6;
          }};
}

Result<void> run_case(const std::string& name, const TorchLoop::Forward& forward, int steps, int repeats, bool json,
                      std::ostream& out) {
  LANISTA_ASSIGN(const auto base, mutate::builtin_base(name, {{1, 8, 8}}, 10));
  const Inputs inputs;
  const nn::Batch batch = inputs.batch();
  LANISTA_ASSIGN(auto ours, Ours::make(base.graph));
  TorchLoop plain(forward, ours.params(), false);
  TorchLoop channels_last(forward, ours.params(), true);
  const at::Tensor last_x = inputs.torch_x.contiguous(at::MemoryFormat::ChannelsLast);

  for (int i = 0; i < kAgreementSteps; ++i) {
    const double a = ours.step(batch);
    const double b = plain.step(inputs.torch_x, inputs.torch_labels, kRate, kMomentum);
    const double c = channels_last.step(last_x, inputs.torch_labels, kRate, kMomentum);
    if (std::abs(a - b) > 1e-4 || std::abs(a - c) > 1e-4) {
      return Error{Code::kInternal,
                   "arms disagree at step " + std::to_string(i) + ": ours " + std::to_string(a) + ", loop " +
                       std::to_string(b) + ", channels-last " + std::to_string(c),
                   name};
    }
  }
  const std::vector<Arm> arms{
      timed("ours", steps, [&] { ours.step(batch); }),
      timed("loop", steps, [&] { plain.step(inputs.torch_x, inputs.torch_labels, kRate, kMomentum); }),
      timed("loop-nhwc", steps, [&] { channels_last.step(last_x, inputs.torch_labels, kRate, kMomentum); })};
  for (const auto& row : interleave("train-step", name + "/1", "us/step", arms, repeats)) print(row, json, out);
  return {};
}

}  // namespace

Result<void> train_step(int repeats, bool json, std::ostream& out) {
  at::set_num_threads(1);
  kernels::set_flush_to_zero();
  LANISTA_TRY(run_case("small-mlp", torch_small_mlp(), 2000, repeats, json, out));
  return run_case("small-cnn", torch_small_cnn(), 300, repeats, json, out);
}

}  // namespace lanista::bench
