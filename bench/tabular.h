#pragma once

#include <iosfwd>

#include "bench/bench.h"
#include "lanista/base/result.h"

namespace lanista::bench {

/// Searches of a table of accuracies by the strategies, one query a trial: mean and standard deviation over seeds of
/// the regret after 50, 100, 200, 500 queries (those up to request.queries, and that number itself), in percentage
/// points of validation accuracy, which is what strategies see, and of the test accuracy of the cell that is best by
/// it. With request.epochs see tabular_epochs.h. The Gaussian process runs over a tenth of the seeds, for it costs a
/// thousand times as much. Errors: kInvalidArgument without a file; AccuracyTable's.
Result<void> tabular(const BenchRequest& request, std::ostream& out);

}  // namespace lanista::bench
