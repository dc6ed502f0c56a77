#include <algorithm>
#include <string>
#include <utility>

#include "lanista/base/text_cursor.h"
#include "lanista/plan/grouping/plan.h"

namespace lanista::plan {
namespace {

/// Most trials of a text. The limit keeps a short range from using all memory.
constexpr std::uint64_t kMostTrials = std::uint64_t{1} << 20;

/// Returns the error for a text that is no plan.
Error no_plan(const std::string& what) { return {Code::kDataLoss, "a plan " + what, "groups"}; }

/// Appends ascending trials, with ranges for three or more consecutive ones.
void put_trials(std::string& text, const std::vector<TrialId>& trials) {
  for (std::size_t i = 0; i < trials.size(); ++i) {
    if (i > 0) text += ' ';
    text += std::to_string(trials[i].value);
    std::size_t last = i;
    while (last + 1 < trials.size() && trials[last + 1].value == trials[last].value + 1) ++last;
    if (last < i + 2) continue;
    text.append("-").append(std::to_string(trials[last].value));
    i = last;
  }
}

/// Reads the parts of a text, from its begin to its end.
class PlanReader : private TextCursor {
 public:
  explicit PlanReader(std::string_view text) : TextCursor(text, "") {}

  /// Reads all groups and their trials, with "GROUP: " before the trials of each if they have numbers.
  Result<std::vector<Regrouping::Part>> parts(bool have_numbers) {
    std::vector<Regrouping::Part> parts;
    while (!rest().empty()) {
      if (accept(", ") == parts.empty()) return unexpected("a group");
      Regrouping::Part part;
      if (have_numbers) {
        LANISTA_ASSIGN(part.group, group_after(parts));
      }
      LANISTA_ASSIGN(part.trials, trials());
      parts.push_back(std::move(part));
    }
    std::ranges::sort(seen_);
    const auto twice = std::ranges::adjacent_find(seen_);
    if (twice != seen_.end()) return no_plan("lists trial " + std::to_string(twice->value) + " twice");
    return parts;
  }

 private:
  Error unexpected(const std::string& expected) const {
    return no_plan("has " + found(20, "''") + " instead of " + expected);
  }
  /// Reads the number of the group after `parts`, as "3: ".
  Result<std::int64_t> group_after(const std::vector<Regrouping::Part>& parts) {
    const auto group = number<std::int64_t>(0);
    if (!group || !accept(": ")) return unexpected("the number of a group");
    if (parts.empty() || parts.back().group < *group) return *group;
    return no_plan("lists group " + std::to_string(*group) + " after group " + std::to_string(parts.back().group) +
                   "; group numbers must be ascending");
  }
  /// Reads the trials of a group, as "1 5-8".
  Result<std::vector<TrialId>> trials() {
    std::vector<TrialId> trials;
    do {
      const auto first = number<std::uint32_t>(1);
      if (!first) return unexpected("a trial number from 1 on");
      const bool is_range = accept("-");
      const auto last = is_range ? number<std::uint32_t>(1) : first;
      if (is_range && (!last || *last < *first || *last - *first < 2)) {
        return unexpected("the end of a range of at least three trials");
      }
      if (*last - *first >= kMostTrials - seen_.size()) {
        return no_plan("has more than " + std::to_string(kMostTrials) + " trials");
      }
      for (std::uint64_t number = *first; number <= *last; ++number) {
        trials.push_back(TrialId{static_cast<std::uint32_t>(number)});
        seen_.push_back(trials.back());
      }
    } while (accept(" "));
    return trials;
  }

  std::vector<TrialId> seen_;
};

}  // namespace

std::string plan_text(const GroupPlan& plan) {
  std::string text;
  for (const Group& group : plan.groups) {
    if (!text.empty()) text += ", ";
    put_trials(text, group.trials);
  }
  return text;
}

Result<GroupPlan> plan_from_text(std::string_view text) {
  LANISTA_ASSIGN(auto parts, PlanReader(text).parts(false));
  GroupPlan plan;
  for (Regrouping::Part& part : parts) plan.groups.push_back({std::move(part.trials)});
  return plan;
}

std::string regrouping_text(const Regrouping& changes) {
  std::string text;
  for (const Regrouping::Part& part : changes.parts) {
    if (!text.empty()) text += ", ";
    text.append(std::to_string(part.group)).append(": ");
    put_trials(text, part.trials);
  }
  return text;
}

Result<Regrouping> regrouping_from_text(std::string_view text) {
  LANISTA_ASSIGN(auto parts, PlanReader(text).parts(true));
  return Regrouping{std::move(parts)};
}

}  // namespace lanista::plan
