#pragma once

#include <iosfwd>

#include "bench/bench.h"
#include "lanista/base/result.h"

namespace lanista::bench {

/// Benchmark `zoo-match`: milliseconds to find a start in a catalogue of models, on one thread.
///
/// The catalogue has 250, 2,500 and 25,000 different models of the published spaces, with 30 to 300 nodes each. Rows
/// give the quantiles 0.5 and 0.95 over 40 children. The arms are:
/// - exhaustive: the search aligns all models; for a tenth of the children, and not at 25,000 models
/// - filtered: the search aligns only models that the bound does not exclude
/// - cached: the children are in the catalogue and are found by their hash
///
/// Errors: kInternal if exhaustive and filtered searches choose different parents.
Result<void> zoo_match(const BenchRequest& request, std::ostream& out);

}  // namespace lanista::bench
