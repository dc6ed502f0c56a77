#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "lanista/base/memory_budget.h"
#include "lanista/base/result.h"
#include "lanista/base/tensor.h"
#include "lanista/exec/program/lane_state.h"
#include "lanista/exec/train/lane_slots.h"
#include "lanista/exec/train/start_weights.h"
#include "lanista/search/study/epoch_selection.h"
#include "lanista/search/study/trial.h"

namespace lanista::train {

/// The selected epoch of a run, if it may be an earlier one than its last, with a copy of the weights of that epoch
/// (parameters and buffers, no slots).
///
/// The run's measurements decide which epoch it is. So states store the copy only, and only if it differs from the
/// run's own weights. Empty if the rule selects the last epoch.
class BestEpochWeights {
 public:
  BestEpochWeights() = default;  ///< selects the last epoch
  /// Selects by `rule`, which may use the known values of the trial.
  BestEpochWeights(study::SelectionRule rule, space::Sample known)
      : initial_selector_(std::move(rule), std::move(known)), selector_(initial_selector_) {}

  /// Whether the rule may select an earlier epoch.
  bool selects_best() const { return initial_selector_.selects_best(); }
  /// Reserves memory for the copy in `budget`, which may be null, until release(). Errors: kResourceExhausted;
  /// kDataLoss (restored weights do not fit).
  Result<void> reserve_memory(const nn::StateFormat& kind, MemoryBudget* budget);
  /// Adds the run's next measurement, and copies the weights of `state` if it is the best so far. If it throws, nothing
  /// has changed.
  void observe(const study::Measurement& measurement, const RunState& state);
  /// The copy for a state of a run with `step` steps. Empty if the run's own weights are selected.
  std::vector<Tensor> weights_to_save(std::int64_t step) const;

  /// The selected weights of a saved state.
  struct RestoredWeights {
    std::int64_t step = -1;  ///< steps of the run at the selected epoch; -1: none
    std::vector<Tensor> weights;
  };
  /// Finds the selected weights in the state of a run with `step` steps. Errors: kDataLoss (the copy is missing).
  Result<RestoredWeights> find(std::span<const study::Measurement> measurements, std::int64_t step,
                               const TrainerState& state) const;
  /// Restores the weights of a run with these measurements.
  void restore(RestoredWeights found, std::span<const study::Measurement> measurements);
  /// Frees the copy and its reservation. Only restore() may follow.
  void release();

 private:
  study::EpochSelector initial_selector_;  ///< without measurements
  study::EpochSelector selector_;          ///< with the run's measurements
  std::int64_t step_ = -1;
  std::vector<Tensor> weights_;
  bool is_reserved_ = false;
  MemoryBudget::Reservation reservation_;
};

/// Checks that weights fit states of this format. Errors: kDataLoss, naming what does not fit.
Result<void> check_weights(std::span<const Tensor> weights, const nn::StateFormat& kind);

}  // namespace lanista::train
