#pragma once

#include <iosfwd>

#include "lanista/base/result.h"

namespace lanista::bench {

/// What models as edits cost, on one thread: 1,000 mutations of a model of some 300 nodes.
/// - pair/299: microseconds to find what two of them share, by ids (arm lineage) and by structure (arm structure);
///   it fails where the two disagree about a node.
/// - edit/299: edits a second through Editor; replay-20/299: microseconds to replay 20 edits. Verification included.
Result<void> lineage(int repeats, bool json, std::ostream& out);

}  // namespace lanista::bench
