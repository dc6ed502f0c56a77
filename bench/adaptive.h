#pragma once

#include <iosfwd>

#include "lanista/base/result.h"

namespace lanista::bench {

/// Trials whose batch follows their gradient noise (data.batch: adaptive) against fixed batches, on the digits with a
/// small MLP and a small CNN, plain SGD with momentum: `32`, `128` and `512` with the rate of 32 times the root of the
/// factor (`-sqrt`) or the factor (`-linear`); `adaptive` from 32 up to 512 with AdaScale's rates, `adaptive-sqrt` with
/// the root's; `8` with half of the rate, and `adaptive-8` from there. `seeds` trainings an arm, with the same seeds,
/// in turn.
///
/// Rows: per cent of the validation rows that are right at the end; share of the trainings that came to the target (97
/// % of them) and of those milliseconds of training, epochs and updates until then, medians and spread; milliseconds of
/// an epoch of training; the batch at the end. Then what measuring costs, with SGD and with Adam: milliseconds of an
/// epoch without and with it (`plain` and `measured`, a batch that may not change, so that both do the same), in turn,
/// and their ratio. Errors: those of train::LaneGroup.
Result<void> adaptive(int seeds, bool json, std::ostream& out);

}  // namespace lanista::bench
