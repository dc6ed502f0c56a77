#pragma once

#include <cstdint>
#include <vector>

namespace lanista::search {

/// Returns the rungs, in epochs: min, min·eta, min·eta², … below max, and then max. It uses whole numbers, because
/// logarithms miss exact powers. Needs 1 <= min <= max and eta >= 2.
std::vector<std::int64_t> geometric_rungs(std::int64_t min, std::int64_t eta, std::int64_t max);

/// Returns the shares of Hyperband's first `brackets` brackets. A share is the number of trials that begin at the 1st,
/// 2nd, … of `rungs` rungs, the last one included.
///
/// The share is ceil(rungs eta^s / (s + 1)) for a bracket with s + 1 rungs (Li et al., JMLR'18), where eta^s counts as
/// at most 1,000,000. Needs 1 <= brackets <= rungs.
std::vector<std::int64_t> bracket_shares(std::int64_t rungs, std::int64_t eta, std::int64_t brackets);

}  // namespace lanista::search
