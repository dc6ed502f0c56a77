#pragma once

#include <cstdint>
#include <vector>

namespace lanista::strategy {

/// min, min·eta, min·eta², …, max: below max, then max itself; in whole numbers throughout, for logarithms miss exact
/// powers. Needs 1 <= min <= max and eta >= 2.
std::vector<std::int64_t> geometric_rungs(std::int64_t min, std::int64_t eta, std::int64_t max);

/// How many trials of Hyperband's first `brackets` brackets begin at the 1st, 2nd, … rung, of `rungs` in all, the last
/// one included: ceil(rungs eta^s / (s + 1)) with s + 1 rungs in the bracket (Li et al., JMLR'18). 1 <= brackets <=
/// rungs.
std::vector<std::int64_t> bracket_shares(std::int64_t rungs, std::int64_t eta, std::int64_t brackets);

}  // namespace lanista::strategy
