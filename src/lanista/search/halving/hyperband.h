#pragma once

#include <cstdint>
#include <vector>

namespace lanista::search {

/// One run of successive halving: the number of trials that begin, and the rungs in epochs.
struct Bracket {
  std::int64_t trials = 1;          ///< Trials that begin at the first rung.
  std::vector<std::int64_t> rungs;  ///< Ascending; the last one is the whole schedule of a trial.
  bool operator==(const Bracket&) const = default;
};

/// Returns how many of `trials` train to rung `rung` (0: the first): floor(trials / eta^rung), at least one. (Ray
/// rounds up.) Needs trials >= 1.
std::int64_t trials_at_rung(std::int64_t trials, std::int64_t eta, std::size_t rung);

/// Returns the rungs, in epochs: min, min eta, min eta², … up to max; the last one is raised to max (Jamieson and
/// Talwalkar, AISTATS'16). It uses whole numbers, because logarithms miss exact powers. Needs 1 <= min <= max and eta
/// >= 2.
std::vector<std::int64_t> halving_rungs(std::int64_t min, std::int64_t eta, std::int64_t max);

/// Published formulas for the number of trials that begin in Hyperband's bracket s of m brackets.
enum class BracketSize {
  kCeil,        ///< ceil(m eta^s / (s + 1)): Li et al., ICLR'17; Ray.
  kFloorRatio,  ///< floor(m / (s + 1)) eta^s: HpBandSter, DEHB.
  kCeilRatio,   ///< ceil(m / (s + 1)) eta^s: Syne Tune.
};

/// Returns the brackets of Hyperband (Li et al., JMLR'18), the one with the most rungs first.
///
/// Bracket s begins with floor(max / eta^s) epochs. There are as many brackets as keep that at min or above. Needs 1 <=
/// min <= max <= 10^9 and eta >= 2.
std::vector<Bracket> hyperband_brackets(std::int64_t min, std::int64_t eta, std::int64_t max, BracketSize size);

}  // namespace lanista::search
