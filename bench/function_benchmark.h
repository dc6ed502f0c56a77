#pragma once

#include <iosfwd>

#include "bench/bench.h"
#include "lanista/base/result.h"

namespace lanista::bench {

/// Benchmark `functions`: strategies on functions with a known minimum (functions.h).
///
/// The value is the mean regret after the epochs of 10, 25, 50 and 100 full trainings, over request.seeds seeds (50;
/// for gp a fifth of them). The spread is the standard deviation. request.queries replaces the 100. If a training has
/// several epochs, samplers run without a stopping rule, with asha and with hyperband. request.cases and
/// request.strategy select functions and strategies. Errors: kInvalidArgument for an unknown name, with the known ones.
Result<void> functions(const BenchRequest& request, std::ostream& out);

}  // namespace lanista::bench
