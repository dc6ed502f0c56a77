#include "lanista/base/edit_distance.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace lanista {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  const std::size_t width = b.size() + 1;
  std::vector<std::size_t> before(width);
  std::vector<std::size_t> previous(width);
  std::vector<std::size_t> current(width);
  std::iota(previous.begin(), previous.end(), std::size_t{0});

  for (std::size_t i = 1; i <= a.size(); ++i) {
    current[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = previous[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      current[j] = std::min({previous[j] + 1, current[j - 1] + 1, replaced});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) current[j] = std::min(current[j], before[j - 2] + 1);
    }
    std::swap(before, previous);
    std::swap(previous, current);
  }
  return previous[b.size()];
}

namespace {

/// The text with small ASCII letters.
std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

}  // namespace

std::string nearest_name(std::string_view word, std::span<const std::string> candidates) {
  constexpr std::size_t kLongest = 64, kMinPrefixLength = 3;
  if (word.empty() || word.size() > kLongest) return {};

  const auto has_other_case = [&](const std::string& candidate) { return lower(candidate) == lower(word); };
  if (std::ranges::count_if(candidates, has_other_case) == 1) return *std::ranges::find_if(candidates, has_other_case);

  const std::string* best = nullptr;
  std::size_t best_distance = 0;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > kLongest) continue;
    const std::size_t distance = edit_distance(word, candidate);
    // Rounded up, so that one slip in a word of two or three letters is still found.
    const std::size_t allowed = (std::max(word.size(), candidate.size()) + 2) / 3;
    if (distance > allowed || (best != nullptr && distance >= best_distance)) continue;
    best = &candidate;
    best_distance = distance;
  }
  if (best != nullptr && best_distance <= 1) return *best;
  // "best" is the beginning of "best_epoch" before it is a slip of "last".
  const auto is_begun = [&](const std::string& candidate) { return candidate.starts_with(word); };
  if (word.size() >= kMinPrefixLength && std::ranges::count_if(candidates, is_begun) == 1) {
    return *std::ranges::find_if(candidates, is_begun);
  }
  return best == nullptr ? std::string() : *best;
}

}  // namespace lanista
