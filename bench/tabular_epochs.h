#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "bench/bench.h"
#include "bench/epoch_search.h"
#include "bench/tabular_arms.h"
#include "lanista/base/result.h"

namespace lanista::bench {

/// The form of `tabular` with early stopping in the loop: every racer on simulated learning curves (TableCurves) of
/// request.epochs epochs, once without a stopping rule and once with asha. What is compared is equal numbers of epochs:
/// as many as 10, 25, 50 full trainings take (those up to request.queries, and that number itself). With
/// request.two_goals, what is missing of the front's volume, and which part of the front of all trials was trained to
/// the end.
Result<void> tabular_epochs(const BenchRequest& request, const AccuracyTable& table, const std::string& name,
                            const std::vector<StrategyArm>& chosen, std::ostream& out);

}  // namespace lanista::bench
