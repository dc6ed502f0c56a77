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

// A trial that measures the noise of its gradients while it trains, and chooses its batch by it (Pollux: Qiao et al.,
// OSDI'21). In a study file: data.batch: adaptive(FROM, MOST).

/// The name of that kind of train.tune.
inline constexpr std::string_view kAdaptive = "adaptive";
/// What a branch calls itself that no search found: the setting to which a trial came by its gradient noise.
inline constexpr std::string_view kAdapted = "adapted";

std::vector<OptionSpec> adaptive_options();

/// How the learning rate follows the batch.
enum class RateScaling {
  kAdaScaleGain,  ///< AdaScale: by what a step of the larger batch is worth
  kSquareRoot,    ///< of the batch's factor
  kLinear,
  kNone,
};
struct AdaptiveBatchRules {
  std::int64_t most = 0;  ///< the largest batch
  RateScaling rate = RateScaling::kAdaScaleGain;
};
/// Of a recipe whose train.tune is kAdaptive. `rate: auto` is kAdaScaleGain, and kSquareRoot for optimisers that divide
/// by the root of a second moment. Errors: kInvalidArgument (options; check_adaptive_batch).
Result<AdaptiveBatchRules> adaptive_batch_rules(const Recipe& recipe);
/// Whether a trial may come from one batch to the other. Errors: kInvalidArgument (`most` is not `from` times a power
/// of two).
Result<void> check_adaptive_batch(std::int64_t from, std::int64_t most);

/// A change of batch by gradient noise, as the measurement behind it tells it; null: there was none before its epoch.
const Branch* batch_change_before(const Measurement& measurement);

}  // namespace lanista::study
