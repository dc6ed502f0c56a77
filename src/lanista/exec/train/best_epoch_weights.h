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

/// The number of the selected epoch of a run, and a copy of the weights of that epoch (parameters and buffers, no
/// slots). Used if the rule may select an earlier epoch than the last.
///
/// The run's measurements decide which epoch it is. So states store only the copy, and only if it differs from the
/// run's own weights. Without a copy if the rule selects the last epoch.
class BestEpochWeights {
 public:
  BestEpochWeights() = default;  ///< Selects the last epoch.
  /// Selects by `rule`. `known` are the values that it may use: hyper-parameters, params and flops of the trial.
  BestEpochWeights(study::SelectionRule rule, space::Sample known)
      : initial_selector_(std::move(rule), std::move(known)), selector_(initial_selector_) {}

  /// True if the rule may select an earlier epoch than the last.
  bool selects_best() const { return initial_selector_.selects_best(); }
  /// Reserves memory for one copy in `budget`, until release(); null: no limit. `kind` is the format of the run's
  /// state. Does nothing if the rule selects the last epoch or the memory is reserved. Errors: kResourceExhausted;
  /// kDataLoss (restored weights do not fit).
  Result<void> reserve_memory(const program::StateFormat& kind, MemoryBudget* budget);
  /// Adds the run's next measurement, and copies the weights of `state` if the epoch is the best so far. Does nothing
  /// if the rule selects the last epoch. If it throws, nothing has changed.
  void observe(const study::Measurement& measurement, const RunState& state);
  /// Returns the copy for the state of a run that has itself done `step` steps. Empty if there is no copy, or if the
  /// run's own weights are selected.
  std::vector<Tensor> weights_to_save(std::int64_t step) const;

  /// The selected weights of a saved state.
  struct RestoredWeights {
    std::int64_t step = -1;       ///< Steps of the run at the selected epoch; -1: none.
    std::vector<Tensor> weights;  ///< Parameters and buffers; empty: none.
  };
  /// Finds the selected weights in the state of a run that has itself done `step` steps. None if the rule selects the
  /// last epoch, or without measurements. Errors: kDataLoss (the weights are missing).
  Result<RestoredWeights> find(std::span<const study::Measurement> measurements, std::int64_t step,
                               const TrainerState& state) const;
  /// Replaces the copy by the result of find() for a run with these measurements.
  void restore(RestoredWeights found, std::span<const study::Measurement> measurements);
  /// Frees the copy and its reservation. Only restore() may follow.
  void release();

 private:
  study::EpochSelector initial_selector_;  ///< Without measurements.
  study::EpochSelector selector_;          ///< With the run's measurements.
  std::int64_t step_ = -1;
  std::vector<Tensor> weights_;
  bool is_reserved_ = false;
  MemoryBudget::Reservation reservation_;
};

/// Checks that weights are all parameters and buffers of this format, no more. Errors: kDataLoss, naming what does not
/// fit.
Result<void> check_weights(std::span<const Tensor> weights, const program::StateFormat& kind);

}  // namespace lanista::train
