#include "lanista/schedule/plan.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <utility>

namespace lanista::schedule {
namespace {

// That a text may name: a short range must not ask for all memory.
constexpr std::uint64_t kMostTrials = std::uint64_t{1} << 20;

Error no_plan(const std::string& what) { return {Code::kDataLoss, "a plan " + what, "groups"}; }

/// Reads numbers of trials and what stands between them.
class Numbers {
 public:
  explicit Numbers(std::string_view text) : text_(text) {}

  bool at_end() const { return text_.empty(); }
  std::string rest() const { return std::string(text_.substr(0, 20)); }
  bool skip(std::string_view word) {
    if (!text_.starts_with(word)) return false;
    text_.remove_prefix(word.size());
    return true;
  }
  /// From 1; nullopt: none stands here.
  std::optional<std::uint64_t> read() {
    std::uint32_t number = 0;
    const auto read = std::from_chars(text_.data(), text_.data() + text_.size(), number);
    if (read.ec != std::errc() || number == 0) return std::nullopt;
    text_.remove_prefix(static_cast<std::size_t>(read.ptr - text_.data()));
    return number;
  }

 private:
  std::string_view text_;
};

}  // namespace

std::int64_t fair_share(std::int64_t trials, std::int64_t workers) {
  const std::int64_t each = std::max<std::int64_t>(workers, 1);
  return std::max<std::int64_t>((trials + each - 1) / each, 1);
}

std::int64_t most_lanes(const Trial& trial, const Machine& machine) {
  const std::int64_t wanted = machine.lanes > 0 ? machine.lanes : step::lanes_that_pay(trial.state_bytes);
  const std::int64_t each = std::max<std::int64_t>(trial.state_bytes + trial.kept_bytes, 1);
  const std::int64_t room = machine.bytes / std::max<std::int64_t>(machine.workers, 1) / each;
  return std::max<std::int64_t>(std::min(wanted, room), 1);
}

namespace {

/// Groups of at least so many trials.
Plan grouped(std::span<const Trial> trials, const Machine& machine, std::int64_t least) {
  std::vector<const Trial*> in_order;
  in_order.reserve(trials.size());
  for (const Trial& trial : trials) in_order.push_back(&trial);
  std::ranges::sort(in_order, {}, [](const Trial* trial) { return std::pair(trial->program, trial->id); });

  const std::int64_t share = fair_share(std::ssize(in_order), machine.workers);
  Plan plan;
  for (std::span<const Trial* const> rest = in_order; !rest.empty();) {
    const Trial& first = *rest.front();
    const auto stranger = std::ranges::find_if(rest, [&](const Trial* t) { return t->program != first.program; });
    const auto members = rest.first(static_cast<std::size_t>(stranger - rest.begin()));
    rest = rest.subspan(members.size());
    const std::int64_t most = std::min(most_lanes(first, machine), share);
    const auto count = std::ssize(members);
    const std::int64_t groups = (count + most - 1) / most;
    for (std::int64_t g = 0; g < groups; ++g) {
      const std::int64_t begin = count * g / groups, end = count * (g + 1) / groups;
      if (end - begin < least) continue;
      Group& group = plan.groups.emplace_back();
      group.trials.reserve(static_cast<std::size_t>(end - begin));
      for (std::int64_t i = begin; i < end; ++i) group.trials.push_back(members[static_cast<std::size_t>(i)]->id);
    }
  }
  std::ranges::sort(plan.groups, {}, [](const Group& group) { return group.trials.front(); });
  return plan;
}

}  // namespace

Plan make_plan(std::span<const Trial> trials, const Machine& machine) { return grouped(trials, machine, 1); }

Plan shared_plan(std::span<const Trial> trials, const Machine& machine) { return grouped(trials, machine, 2); }

std::string plan_text(const Plan& plan) {
  std::string text;
  for (const Group& group : plan.groups) {
    if (!text.empty()) text += ", ";
    const auto& trials = group.trials;
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
  return text;
}

Result<Plan> plan_from_text(std::string_view text) {
  Plan plan;
  std::vector<TrialId> seen;
  Numbers numbers(text);
  while (!numbers.at_end()) {
    const bool begins = numbers.skip(", ");
    if (begins == plan.groups.empty()) return no_plan("has '" + numbers.rest() + "' in the place of a group");
    plan.groups.emplace_back();
    do {
      const auto first = numbers.read();
      if (!first) return no_plan("has '" + numbers.rest() + "' in the place of a trial; they are numbered from 1");
      const bool is_range = numbers.skip("-");
      const auto last = is_range ? numbers.read() : first;
      if (is_range && (!last || *last < *first + 2)) return no_plan("has no range in '" + numbers.rest() + "'");
      if (*last - *first >= kMostTrials - seen.size()) {
        return no_plan("of more than " + std::to_string(kMostTrials) + " trials");
      }
      for (std::uint64_t number = *first; number <= *last; ++number) {
        const TrialId trial{static_cast<std::uint32_t>(number)};
        plan.groups.back().trials.push_back(trial);
        seen.push_back(trial);
      }
    } while (numbers.skip(" "));
  }
  std::ranges::sort(seen);
  const auto twice = std::ranges::adjacent_find(seen);
  if (twice != seen.end()) return no_plan("names trial " + std::to_string(twice->value) + " twice");
  return plan;
}

}  // namespace lanista::schedule
