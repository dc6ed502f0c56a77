#include "lanista/app/report/failures.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <string_view>

namespace lanista::report {
namespace {

constexpr std::size_t kLongestCause = 80;
constexpr std::size_t kFirstTrials = 10;

/// The cause of a reason. "trial 7 needs 12.5 MB: …" and "trial 9 needs 3 MB: …" have the same cause.
std::string cause_of(std::string_view reason) {
  std::string cause;
  for (const char c : reason.substr(0, std::min(reason.find(':'), kLongestCause))) {
    const bool digit = std::isdigit(static_cast<unsigned char>(c)) != 0;
    if (!digit) cause += c;
    if (digit && !cause.ends_with('#')) cause += '#';
  }
  return cause.empty() ? "no reason given" : cause;
}

}  // namespace

std::vector<FailureGroup> group_failures(const study::StudyView& view) {
  std::vector<FailureGroup> groups;
  std::map<std::string, std::size_t> index;
  for (const study::TrialView& trial : view.trials) {
    if (!trial.outcome || trial.outcome->kind != study::OutcomeKind::kFailed) continue;
    const std::string cause = cause_of(trial.outcome->reason);
    const auto [it, added] = index.emplace(cause, groups.size());
    if (added) groups.push_back({cause, 0, {}, trial.outcome->reason});
    FailureGroup& group = groups[it->second];
    ++group.count;
    if (group.first.size() < kFirstTrials) group.first.push_back(trial.id);
  }
  std::stable_sort(groups.begin(), groups.end(), [](const auto& a, const auto& b) { return a.count > b.count; });
  return groups;
}

}  // namespace lanista::report
