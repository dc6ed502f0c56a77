#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "bench/bench.h"
#include "bench/epoch_search.h"
#include "bench/tabular_arms.h"
#include "lanista/base/result.h"

namespace lanista::bench {

/// The part of benchmark `tabular` with early stopping, on simulated learning curves of request.epochs epochs.
///
/// Each strategy runs without a stopping rule and with asha, median and hyperband. Arms are compared after equal
/// numbers of epochs: those of 10, 25 and 50 full trainings. request.queries replaces the 50. With request.two_goals,
/// rows give the part of the front's volume that is not covered, and the part of the front of all trials that was
/// trained to the end. Errors: those of search_epochs().
Result<void> tabular_epochs(const BenchRequest& request, const AccuracyTable& table, const std::string& name,
                            const std::vector<StrategyArm>& chosen, std::ostream& out);

}  // namespace lanista::bench
