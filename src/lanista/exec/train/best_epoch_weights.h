#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "lanista/base/memory_budget.h"
#include "lanista/base/result.h"
#include "lanista/base/tensor.h"
#include "lanista/exec/program/lane_state.h"
#include "lanista/search/study/epoch_selection.h"
#include "lanista/search/study/trial.h"
#include "lanista/exec/train/lane_slots.h"
#include "lanista/exec/train/start_weights.h"

namespace lanista::train {

/// The epoch that a run stands for, where that may be an earlier one than its last: a copy of the weights that it had
/// then (parameters and buffers, no slots). Which epoch it is follows from the run's measurements, so states hold the
/// copy alone, and only where it differs from the run's own weights. Holds nothing where the last epoch counts.
class BestEpochWeights {
 public:
  BestEpochWeights() = default;  ///< the last one
  BestEpochWeights(study::SelectionRule rule, space::Sample known) : initial_selector_(std::move(rule), std::move(known)), selector_(initial_selector_) {}

  bool selects_best() const { return initial_selector_.selects_best(); }
  /// Takes the copy's memory out of the budget, which may be null, until release(). Errors: kResourceExhausted;
  /// kDataLoss (what was restored does not fit).
  Result<void> reserve_memory(const nn::StateFormat& kind, MemoryBudget* budget);
  /// The run's next measurement, of the weights that `state` has; copies them if it is the best so far. What it throws
  /// leaves it as before.
  void observe(const study::Measurement& measurement, const RunState& state);
  /// The copy, of a run that has done `step` steps; empty: its own weights are what is kept, or nothing is.
  std::vector<Tensor> weights_to_save(std::int64_t step) const;

  /// What a state tells.
  struct RestoredWeights {
    std::int64_t step = -1;  ///< steps of the run when its weights were copied; -1: nothing is kept
    std::vector<Tensor> weights;
  };
  /// Of the state of a run that has done `step` steps. Errors: kDataLoss (the copy is missing).
  Result<RestoredWeights> find(std::span<const study::Measurement> measurements, std::int64_t step,
                     const TrainerState& state) const;
  /// Of a run that has these measurements.
  void restore(RestoredWeights found, std::span<const study::Measurement> measurements);
  /// Gives the memory back; restore() is next.
  void release();

 private:
  study::EpochSelector initial_selector_;   ///< that has seen nothing
  study::EpochSelector selector_;  ///< that has seen the run's measurements
  std::int64_t step_ = -1;
  std::vector<Tensor> weights_;
  bool is_reserved_ = false;
  MemoryBudget::Reservation reservation_;
};

/// Errors: kDataLoss naming what of the weights does not fit states of this kind.
Result<void> check_weights(std::span<const Tensor> weights, const nn::StateFormat& kind);

}  // namespace lanista::train
