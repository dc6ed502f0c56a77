#pragma once

#include <iosfwd>

#include "bench/bench.h"
#include "lanista/base/result.h"

namespace lanista::bench {

/// Every strategy on every function of functions.h (request.cases: these only): mean and standard deviation of the
/// regret after as many epochs as 10, 25, 50, 100 full trainings have (those up to request.queries, and that number
/// itself), over request.seeds seeds (50; of gp a fifth). Where a training has several epochs, samplers run with no
/// stopping rule, with asha, and with hyperband where there is one. Errors: kInvalidArgument (a name that nobody has).
Result<void> functions(const BenchRequest& request, std::ostream& out);

}  // namespace lanista::bench
