#include "lanista/exec/train/best_epoch_weights.h"

#include <algorithm>
#include <string>

namespace lanista::train {

Result<void> check_weights(std::span<const Tensor> weights, const program::StateFormat& kind) {
  const ElementType type = kind.is_double() ? ElementType::kF64 : ElementType::kF32;
  const auto& items = kind.layout().items;
  for (const program::StateTensorLayout& item : items) {
    const auto found = std::ranges::find(weights, item.tensor.name, &Tensor::name);
    const bool fits = found != weights.end() && found->shape == item.tensor.shape.dims && found->type == type &&
                      found->bytes.size() == static_cast<std::size_t>(found->elements()) * element_size(type);
    if (fits) continue;
    return Error{Code::kDataLoss,
                 "the stored weights of an earlier epoch " +
                     std::string(found == weights.end() ? "lack '" : "do not fit in '") + item.tensor.name + "'",
                 ""};
  }
  if (weights.size() == items.size()) return {};
  return Error{Code::kDataLoss,
               "the stored weights of an earlier epoch are " + std::to_string(weights.size()) +
                   " tensors; the model has " + std::to_string(items.size()),
               ""};
}

Result<void> BestEpochWeights::reserve_memory(const program::StateFormat& kind, MemoryBudget* budget) {
  if (!selects_best()) return {};
  if (is_reserved_) return {};
  if (step_ >= 0) LANISTA_TRY(check_weights(weights_, kind));
  if (budget != nullptr) {
    LANISTA_ASSIGN(reservation_, budget->reserve(kind.weight_bytes()));
  }
  is_reserved_ = true;
  return {};
}

void BestEpochWeights::observe(const study::Measurement& measurement, const RunState& state) {
  if (!selects_best() || !selector_.improves(measurement)) return;
  weights_ = weights_in(state.extract());
  step_ = measurement.step;
  selector_.observe(measurement);
}

std::vector<Tensor> BestEpochWeights::weights_to_save(std::int64_t step) const {
  return step_ < 0 || step_ == step ? std::vector<Tensor>() : weights_;
}

Result<BestEpochWeights::RestoredWeights> BestEpochWeights::find(std::span<const study::Measurement> measurements,
                                                                 std::int64_t step, const TrainerState& state) const {
  RestoredWeights found;
  if (!selects_best() || measurements.empty()) return found;
  const study::Measurement& best = measurements[study::selected_index(initial_selector_, measurements)];
  found.step = best.step;
  found.weights = best.step == step ? weights_in(state.tensors) : state.kept;
  if (!found.weights.empty()) return found;
  return Error{Code::kDataLoss,
               "checkpoint lacks the weights of epoch " + std::to_string(best.epoch) + ", the best so far", ""};
}

void BestEpochWeights::restore(RestoredWeights found, std::span<const study::Measurement> measurements) {
  selector_.reset_measurements();
  for (const study::Measurement& measurement : measurements) selector_.observe(measurement);
  step_ = found.step;
  weights_ = std::move(found.weights);
}

void BestEpochWeights::release() {
  step_ = -1;
  weights_.clear();
  weights_.shrink_to_fit();
  is_reserved_ = false;
  reservation_ = {};
}

}  // namespace lanista::train
