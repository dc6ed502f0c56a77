#pragma once

#include <cstdint>
#include <vector>

namespace lanista::strategy {

/// min, min·eta, min·eta², …, max: below max, then max itself; in whole numbers throughout, for logarithms miss exact
/// powers. Needs 1 <= min <= max and eta >= 2.
std::vector<std::int64_t> geometric_rungs(std::int64_t min, std::int64_t eta, std::int64_t max);

}  // namespace lanista::strategy
