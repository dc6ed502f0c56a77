#pragma once

#include <iosfwd>

#include "bench/bench.h"
#include "lanista/base/result.h"

namespace lanista::bench {

/// Benchmark `tabular`: strategies on a table of accuracies, one query a trial.
///
/// The value is the mean regret after 50, 100, 200 and 500 queries in percentage points, and the spread is the standard
/// deviation over seeds. request.queries replaces the 500. Strategies get the validation accuracy. Rows give its regret
/// and the regret of the test accuracy of the same cell. The Gaussian process runs with a tenth of the seeds, because a
/// query needs a thousand times as long. With request.epochs it runs tabular_epochs().
///
/// Errors: kInvalidArgument without a file; those of AccuracyTable.
Result<void> tabular(const BenchRequest& request, std::ostream& out);

}  // namespace lanista::bench
