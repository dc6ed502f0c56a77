#include "lanista/search/study/bracket_counts.h"

#include <algorithm>

namespace lanista::study {

std::vector<BracketCounts> bracket_counts(const StudyView& view) {
  if (std::ranges::all_of(view.trials, [](const TrialView& trial) { return trial.rungs.empty(); })) return {};
  std::map<std::int64_t, BracketCounts> by_first;
  for (const TrialView& trial : view.trials) {
    const std::int64_t first = trial.rungs.empty() ? full_epochs(trial.proposal) : trial.rungs.front();
    BracketCounts& bracket = by_first[first];
    bracket.first = first;
    ++bracket.trials;
    for (std::size_t i = 1; i < trial.rungs.size(); ++i) ++bracket.further[trial.rungs[i]];
  }
  std::vector<BracketCounts> out;
  for (auto& [first, bracket] : by_first) out.push_back(std::move(bracket));
  return out;
}

std::string rungs_text(const TrialView& trial) {
  std::string text;
  for (const std::int64_t rung : trial.rungs) text += (text.empty() ? "" : " > ") + std::to_string(rung);
  return text;
}

}  // namespace lanista::study
