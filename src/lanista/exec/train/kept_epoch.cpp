#include "lanista/exec/train/kept_epoch.h"

#include <algorithm>
#include <string>

namespace lanista::train {

Result<void> check_weights(std::span<const Tensor> weights, const nn::StateKind& kind) {
  const ElementType type = kind.is_double() ? ElementType::kF64 : ElementType::kF32;
  const auto& items = kind.layout().items;
  for (const nn::StateItem& item : items) {
    const auto found = std::ranges::find(weights, item.tensor.name, &Tensor::name);
    const bool fits = found != weights.end() && found->shape == item.tensor.shape.dims && found->type == type &&
                      found->bytes.size() == static_cast<std::size_t>(found->elements()) * element_size(type);
    if (fits) continue;
    return Error{Code::kDataLoss,
                 "the weights kept of an earlier epoch " +
                     std::string(found == weights.end() ? "lack '" : "do not fit in '") + item.tensor.name + "'",
                 ""};
  }
  if (weights.size() == items.size()) return {};
  return Error{Code::kDataLoss,
               "the weights kept of an earlier epoch are " + std::to_string(weights.size()) +
                   " tensors; the model has " + std::to_string(items.size()),
               ""};
}

Result<void> KeptEpoch::settle(const nn::StateKind& kind, MemoryBudget* budget) {
  if (!picks()) return {};
  if (has_room_) return {};
  if (step_ >= 0) LANISTA_TRY(check_weights(weights_, kind));
  if (budget != nullptr) {
    LANISTA_ASSIGN(room_, budget->reserve(kind.weight_bytes()));
  }
  has_room_ = true;
  return {};
}

void KeptEpoch::observe(const study::Measurement& measurement, const RunState& state) {
  if (!picks() || !so_far_.improves(measurement)) return;
  weights_ = weights_in(state.extract());
  step_ = measurement.step;
  so_far_.observe(measurement);
}

std::vector<Tensor> KeptEpoch::to_save(std::int64_t step) const {
  return step_ < 0 || step_ == step ? std::vector<Tensor>() : weights_;
}

Result<KeptEpoch::Found> KeptEpoch::find(std::span<const study::Measurement> measurements, std::int64_t step,
                                         const TrainerState& state) const {
  Found found;
  if (!picks() || measurements.empty()) return found;
  const study::Measurement& best = measurements[study::kept_place(fresh_, measurements)];
  found.step = best.step;
  found.weights = best.step == step ? weights_in(state.tensors) : state.kept;
  if (!found.weights.empty()) return found;
  return Error{Code::kDataLoss,
               "checkpoint lacks the weights of epoch " + std::to_string(best.epoch) + ", the best so far", ""};
}

void KeptEpoch::restore(Found found, std::span<const study::Measurement> measurements) {
  so_far_.begin_anew();
  for (const study::Measurement& measurement : measurements) so_far_.observe(measurement);
  step_ = found.step;
  weights_ = std::move(found.weights);
}

void KeptEpoch::release() {
  step_ = -1;
  weights_.clear();
  weights_.shrink_to_fit();
  has_room_ = false;
  room_ = {};
}

}  // namespace lanista::train
