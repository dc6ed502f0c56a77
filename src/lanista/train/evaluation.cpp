#include "lanista/train/evaluation.h"

#include "lanista/study/metric.h"

namespace lanista::train {

step::Loss loss_of(const study::Recipe& recipe) {
  return recipe.loss == "mse" ? step::Loss::kMse : step::Loss::kCrossEntropy;
}

step::StepOptions step_options_of(const study::Recipe& recipe) {
  const auto optimizer = recipe.optimizer == "adam"    ? step::Optimizer::kAdam
                         : recipe.optimizer == "adamw" ? step::Optimizer::kAdamW
                                                       : step::Optimizer::kSgd;
  return {loss_of(recipe), optimizer};
}

Evaluation::Evaluation(step::Loss loss, const std::vector<std::string>& metrics, std::int64_t width, kernels::Isa isa)
    : loss_(loss),
      width_(width),
      kernels_(&kernels::kernels<double>(isa)),
      sums_(metrics.empty() ? study::default_metrics(loss == step::Loss::kCrossEntropy ? width : 0) : metrics, width) {}

void Evaluation::add(std::span<const double> predictions, std::span<const std::int32_t> labels,
                     std::span<const float> targets) {
  const std::int64_t samples = static_cast<std::int64_t>(predictions.size()) / width_;
  losses_.resize(static_cast<std::size_t>(samples));
  scratch_.resize(predictions.size());
  if (loss_ == step::Loss::kCrossEntropy) {
    kernels_->cross_entropy(samples, width_, 0.0, predictions.data(), labels.data(), losses_.data(), scratch_.data());
    sums_.add_classes(predictions, labels, losses_);
    return;
  }
  for (std::size_t i = 0; i < targets.size(); ++i) scratch_[i] = static_cast<double>(targets[i]);
  kernels_->mse(samples, width_, predictions.data(), scratch_.data(), losses_.data());
  sums_.add_numbers(predictions, targets, losses_);
}

}  // namespace lanista::train
