#pragma once

#include <cstdint>

#include "lanista/base/result.h"
#include "lanista/search/study/config.h"

namespace lanista::bench {

/// The work of one epoch with an example selector. A value of 1 means once for every training row.
struct SelectionWork {
  double scored = 0;   ///< Forward passes that only give losses for the selection.
  double chosen = 0;   ///< Rows among which the selector chose.
  double trained = 0;  ///< Rows that were trained on.
  double queued = 0;   ///< Trained rows that waited in the queue for a full batch.
};

/// Returns the work of selector `select` in epoch `epoch` (from 0) of `epochs`. `trained` and `queued` stay 0.
///
/// Errors: kInvalidArgument for wrong options.
Result<SelectionWork> selection_work(const study::PluginConfig& select, std::int64_t epochs, std::int64_t epoch);

/// Milliseconds of each part of the work for all rows.
struct SelectionCosts {
  double read = 0;     ///< Loop over the batches.
  double forward = 0;  ///< Forward passes for losses.
  double choose = 0;   ///< Selector.
  double queue = 0;    ///< Queue of chosen rows.
  double train = 0;    ///< Forward pass, backward pass and update.
};

/// Predicts the milliseconds of an epoch, as in the model of Selective-Backprop with the cost of the selection.
///
/// Take an epoch that computes losses for every n-th row and trains on a share k. Without selector and loop it needs
/// 1/n of a forward pass and k of a step. It is r / (1/n + k r) times as fast as training on all rows, where r is the
/// time of a step over that of a forward pass.
double predict_epoch_milliseconds(const SelectionCosts& parts, const SelectionWork& work);

/// Milliseconds of a selection of `rows` rows without training and without losses.
struct SelectionOverhead {
  double sampling = 0;  ///< Random choice of the rows.
  double queue = 0;     ///< Queue, for all rows.
};

/// Measures the overhead of the selector `random`, the median of 30 passes. `batch` is the number of rows a batch.
SelectionOverhead measure_selection_overhead(std::int64_t rows, std::int64_t batch);

}  // namespace lanista::bench
