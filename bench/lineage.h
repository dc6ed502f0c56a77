#pragma once

#include <iosfwd>

#include "lanista/base/result.h"

namespace lanista::bench {

/// Benchmark `lineage`: edits and comparisons of 1,000 mutations of a model with 299 nodes, on one thread.
///
/// The cases are:
/// - pair/299: microseconds to find the common nodes of two models, by ids (arm lineage) and by structure (arm
///   structure)
/// - edit/299: edits a second through Editor, with verification
/// - replay-20/299: microseconds to replay 20 edits, with verification
///
/// Errors: kInternal if a node that two models share by id differs in structure.
Result<void> lineage(int repeats, bool json, std::ostream& out);

}  // namespace lanista::bench
