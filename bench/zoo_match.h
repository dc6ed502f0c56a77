#pragma once

#include <iosfwd>

#include "bench/bench.h"
#include "lanista/base/result.h"

namespace lanista::bench {

/// A zoo of 250, 2,500 and 25,000 different models of the published spaces, of 30 to 300 nodes each, and children that
/// are not in it, on one thread; the search alone, in ms, p50 and p95 over children: all models aligned (exhaustive; a
/// tenth of the children, and none at 25,000), those that the bound leaves (filtered), and children that the zoo has
/// (cached: found by their hash). Fails where exhaustive and filtered searches choose different parents.
Result<void> zoo_match(const BenchRequest& request, std::ostream& out);

}  // namespace lanista::bench
