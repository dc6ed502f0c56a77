#pragma once

#include <functional>

#include "lanista/base/result.h"
#include "lanista/exec/train/lane_group.h"
#include "lanista/exec/train/trial_run.h"

namespace lanista::train {

/// True if a selection comparison (train.select: auto) must run before the current epoch. run_select_check() ends it.
bool is_select_check_due(const TrialRun& run);

/// Runs the selection comparison of an admitted run. Requires is_select_check_due(run).
///
/// Two branches of the run train at equal computation by its rules: one on selected examples, one on all. They read the
/// same batches as far as both go, and are measured on the validation part. The run continues from the selecting branch
/// if its metric is better, else from the other, or from its own state if that failed. The metric is that of the rules;
/// by default val_accuracy, or val_loss if accuracy is not measured. Either branch has the bits of a trial that always
/// trained so. The branches run at most to the last step but one of the epoch; the run trains and measures the last. If
/// one step of the epoch is left, the comparison ends without branches.
///
/// The result depends on the run's input only. Returns true if the comparison ended, and false if `should_stop`, called
/// between steps, returned true. Then, and after an error, the run is unchanged. Errors: kResourceExhausted,
/// kFailedPrecondition (the run is not admitted), kInvalidArgument (the metric is not measured), kInternal (an
/// exception). Source: the guard of Selective-Backprop in ModelKeeper (section 6.5), with the branches of MLtuner.
Result<bool> run_select_check(LaneGroup& group, TrialRun& run, const std::function<bool()>& should_stop);

}  // namespace lanista::train
