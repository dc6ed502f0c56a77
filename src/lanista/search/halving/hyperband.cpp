#include "lanista/search/halving/hyperband.h"

#include <algorithm>

#include "lanista/base/check.h"

namespace lanista::search {
namespace {

std::int64_t ceil_of(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

std::int64_t size_of(BracketSize size, std::int64_t brackets, std::int64_t rungs, std::int64_t power) {
  switch (size) {
    case BracketSize::kFloorRatio:
      return brackets / rungs * power;
    case BracketSize::kCeilRatio:
      return ceil_of(brackets, rungs) * power;
    case BracketSize::kCeil:
      break;
  }
  return ceil_of(brackets * power, rungs);
}

}  // namespace

std::int64_t trials_at_rung(std::int64_t trials, std::int64_t eta, std::size_t rung) {
  for (; rung > 0 && trials > 1; --rung) trials /= eta;
  return std::max<std::int64_t>(trials, 1);
}

std::vector<std::int64_t> halving_rungs(std::int64_t min, std::int64_t eta, std::int64_t max) {
  LANISTA_CHECK(1 <= min && min <= max && eta >= 2, "rungs need 1 <= min <= max and eta >= 2");
  std::vector<std::int64_t> rungs{min};
  while (rungs.back() <= max / eta) rungs.push_back(rungs.back() * eta);
  rungs.back() = max;
  return rungs;
}

std::vector<Bracket> hyperband_brackets(std::int64_t min, std::int64_t eta, std::int64_t max, BracketSize size) {
  constexpr std::int64_t kMost = 1'000'000'000;
  LANISTA_CHECK(1 <= min && min <= max && max <= kMost && eta >= 2, "brackets need 1 <= min <= max and eta >= 2");
  std::vector<std::int64_t> powers{1};  // eta^s
  while (powers.back() <= max / min / eta) powers.push_back(powers.back() * eta);
  std::vector<Bracket> out;
  for (std::size_t s = powers.size(); s-- > 0;) {
    Bracket& bracket = out.emplace_back();
    bracket.trials = size_of(size, std::ssize(powers), static_cast<std::int64_t>(s) + 1, powers[s]);
    for (std::size_t rung = s + 1; rung-- > 0;) bracket.rungs.push_back(max / powers[rung]);
  }
  return out;
}

}  // namespace lanista::search
