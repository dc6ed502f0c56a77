#pragma once

#include <iosfwd>

#include "lanista/base/result.h"

namespace lanista::bench {

/// Benchmark `pipeline-real`: steps of pipelines on two threads, measured.
///
/// - two-branches/2: a model of two branches, against one thread with the same micro-batches and against the bound
/// - plans-30/2: 30 random plans of one model, with predicted and measured times
/// - population-8: eight small trials as branches of one graph, against lanes of one program and against time slices
///
/// Errors: kInternal if a pipeline and one thread give different weights.
Result<void> pipeline_real(int repeats, bool json, std::ostream& out);

}  // namespace lanista::bench
