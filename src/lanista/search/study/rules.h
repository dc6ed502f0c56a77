#pragma once

#include <cstdint>

namespace lanista::study {

/// The rules of studies that do not name their rules: those of version 0.1 and before.
inline constexpr std::int64_t kFirstRules = 1;
/// The rules by which new studies read data, ranges and rungs. A study keeps the rules that it began with, and a
/// trained model those of its study.
inline constexpr std::int64_t kLatestRules = 2;

}  // namespace lanista::study
