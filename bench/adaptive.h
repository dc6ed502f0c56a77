#pragma once

#include <iosfwd>

#include "lanista/base/result.h"

namespace lanista::bench {

/// Benchmark `adaptive`: trials with an adaptive batch against fixed batches.
///
/// A small MLP and a small CNN train on the digits with SGD and momentum. All arms use the same `seeds` seeds, in turn.
/// The arms are:
/// - `32`: a fixed batch of 32
/// - `128-sqrt`, `512-sqrt`: a fixed batch, with the rate of 32 times the root of the factor
/// - `128-linear`, `512-linear`: the same with the rate of 32 times the factor
/// - `adaptive`: a batch from 32 up to 512 with AdaScale's rates
/// - `adaptive-sqrt`: the same with rates by the root of the factor
/// - `8`: a fixed batch of 8 with half of the rate
/// - `adaptive-8`: an adaptive batch that starts at 8
///
/// Rows: percent of correct validation rows at the end; the share of trainings that reached an accuracy of 98 %; the
/// milliseconds, epochs and updates that these needed; milliseconds an epoch; the last batch.
///
/// Further rows give the time of the measurement, with SGD and with Adam: milliseconds of an epoch without it (`plain`)
/// and with it (`measured`), and their ratio. The batch of both is fixed, so that they do equal training.
///
/// Errors: those of train::LaneGroup.
Result<void> adaptive(int seeds, bool json, std::ostream& out);

}  // namespace lanista::bench
