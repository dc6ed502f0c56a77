#pragma once

#include <cstdint>
#include <vector>

namespace lanista::strategy {

/// One run of successive halving: how many trials begin, and the epochs through which those train that are still in.
struct Bracket {
  std::int64_t trials = 1;
  std::vector<std::int64_t> rungs;  ///< ascending; the last one is a trial's whole schedule
  bool operator==(const Bracket&) const = default;
};

/// Of so many that began, how many train to the rung number `rung` (0: the first): floor(trials / eta^rung), at least
/// one. (Ray rounds up.) Needs trials >= 1.
std::int64_t trials_at_rung(std::int64_t trials, std::int64_t eta, std::size_t rung);

/// Rungs of successive halving: min eta^i (Jamieson and Talwalkar, AISTATS'16) as far as that stays below max or is it,
/// the last one moved up to max. Whole numbers throughout, for logarithms miss exact powers. Needs 1 <= min <= max and
/// eta >= 2.
std::vector<std::int64_t> halving_rungs(std::int64_t min, std::int64_t eta, std::int64_t max);

/// How many trials begin in Hyperband's bracket s, where m is the number of brackets. Published three times, in three
/// ways.
enum class BracketSize {
  kCeil,        ///< ceil(m eta^s / (s + 1)): Li et al., ICLR'17; Ray
  kFloorRatio,  ///< floor(m / (s + 1)) eta^s: HpBandSter, DEHB
  kCeilRatio,   ///< ceil(m / (s + 1)) eta^s: Syne Tune
};

/// The brackets of Hyperband (Li et al., JMLR'18), the one with the most rungs first: bracket s begins with
/// floor(max / eta^s) epochs; there are as many as keep that at min or above. Needs 1 <= min <= max <= 10^9, eta >= 2.
std::vector<Bracket> hyperband_brackets(std::int64_t min, std::int64_t eta, std::int64_t max, BracketSize size);

}  // namespace lanista::strategy
