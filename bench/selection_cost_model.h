#pragma once

#include <cstdint>

#include "lanista/base/result.h"
#include "lanista/search/study/config.h"

namespace lanista::bench {

/// What an epoch of training does, in epochs' worth of rows: each of them 1 where all training rows have it done once.
struct SelectionWork {
  double scored = 0;       ///< passes forward, for losses to choose by
  double chosen = 0;       ///< rows that were chosen among, whatever became of them: draws, ranks
  double trained = 0;      ///< rows trained on
  double queued = 0;       ///< of those, what was chosen, and waited for a batch to be full
  double evaluations = 0;  ///< of the validation part, beside the one that ends the epoch
};

/// What it looks at and chooses among in an epoch, from 0 (what it trains on is told by the training). `won`: whether a
/// kind that asks first (data::kSelectionAuto) selects in it. Errors: kInvalidArgument.
Result<SelectionWork> selection_work(const study::PluginConfig& select, std::int64_t epochs, std::int64_t epoch,
                                     bool won);

/// What these parts take, each done for all rows: milliseconds.
struct SelectionCosts {
  double read = 0;      ///< the loop over batches, whatever else is done with them
  double forward = 0;   ///< losses
  double choose = 0;    ///< by the kind of selector at hand
  double queue = 0;     ///< what was chosen, until it is trained on
  double train = 0;     ///< forward, backward, update
  double evaluate = 0;  ///< the validation part
};

/// The model of gain of Selective-Backprop with what choosing takes: an epoch's milliseconds. Without that and the loop
/// an epoch that looks at every n-th row and trains on a share k takes 1/n of a forward pass and k of a step, which is
/// r / (1/n + k r) times faster than training on all, r being a step by a forward pass.
double predict_epoch_milliseconds(const SelectionCosts& parts, const SelectionWork& work);

/// What a selection takes by itself, without a training and without losses: milliseconds of so many rows.
struct SelectionOverhead {
  double sampling = 0;
  double queue = 0;  ///< of rows that were chosen by chance, one in two
};
SelectionOverhead measure_selection_overhead(std::int64_t rows, std::int64_t batch);

}  // namespace lanista::bench
