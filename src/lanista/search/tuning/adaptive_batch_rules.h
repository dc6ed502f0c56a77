#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/base/options.h"
#include "lanista/base/result.h"
#include "lanista/search/study/config.h"
#include "lanista/search/study/trial.h"

namespace lanista::study {

// Adaptive batch: a trial measures the gradient noise scale while it trains, and chooses its batch by it (Pollux: Qiao
// et al., OSDI'21). In a study file: data.batch: adaptive(FROM, MOST).

/// Name of this kind of train.tune.
inline constexpr std::string_view kAdaptive = "adaptive";
/// Trend of a Branch that records a change of the batch by gradient noise, not a search.
inline constexpr std::string_view kAdapted = "adapted";

/// Returns the options of this kind of train.tune: "most" (largest batch) and "rate" (rule of the learning rate).
std::vector<OptionSpec> adaptive_options();

/// Rule by which the learning rate follows the batch size.
enum class RateScaling {
  kAdaScaleGain,  ///< The rate is multiplied by AdaScale's gain of a step of the larger batch.
  kSquareRoot,    ///< The rate is multiplied by the square root of the batch's factor.
  kLinear,        ///< The rate is multiplied by the batch's factor.
  kNone,          ///< The rate does not change.
};
/// Options of an adaptive batch as values.
struct AdaptiveBatchRules {
  std::int64_t most = 0;                          ///< Largest batch, in samples.
  RateScaling rate = RateScaling::kAdaScaleGain;  ///< Rule for the learning rate.
};
/// Returns the rules of a recipe with the tuning kAdaptive. `rate: auto` is kSquareRoot for optimisers that divide by
/// the root of a second moment, and kAdaScaleGain for others. Errors: kInvalidArgument (options; check_adaptive_batch).
Result<AdaptiveBatchRules> adaptive_batch_rules(const Recipe& recipe);
/// Checks that a batch may grow from `from` to `most` samples. Errors: kInvalidArgument (`most` is not `from` times a
/// power of two).
Result<void> check_adaptive_batch(std::int64_t from, std::int64_t most);

/// Returns the record of the batch change before the epoch of this measurement, which it belongs to; null: there was
/// none.
const Branch* batch_change_before(const Measurement& measurement);

}  // namespace lanista::study
