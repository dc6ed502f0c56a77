#include "lanista/search/study/worker_usage.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "lanista/search/study/worker_timeline.h"

namespace lanista::study {

double WorkerUsage::busy_seconds() const {
  double sum = 0;
  for (const auto& [worker, worked] : busy) sum += worked;
  return sum;
}

WorkerUsage worker_usage(const StudyView& view) {
  WorkerUsage use;
  const std::vector<WorkerInterval> all = worker_timeline(view);
  if (all.empty()) return use;
  double first = all.front().began, last = all.front().ended;
  for (const WorkerInterval& interval : all) {
    first = std::min(first, interval.began);
    last = std::max(last, interval.ended);
  }
  use.seconds = last - first;
  std::map<std::int64_t, double> until;
  for (const WorkerInterval& interval : all) {  // ends may overlap by rounding
    double& over = until.try_emplace(interval.worker, first).first->second;
    const double worked = std::max(0.0, interval.ended - std::max(interval.began, over));
    use.busy[interval.worker] += worked;
    if (!interval.leader) use.busy_at[view.spans[interval.slices.front().span].host] += worked;
    over = std::max(over, interval.ended);
  }
  return use;
}

std::vector<TrialWidths> trial_widths(const StudyView& view) {
  std::map<TrialId, std::map<std::int64_t, std::vector<double>>> step_seconds;
  std::map<TrialId, std::pair<std::int64_t, std::int64_t>> widths;  // the widest, the last
  for (const Span& span : view.spans) {
    auto& [most, last] = widths[span.trial];
    most = std::max(most, span.width);
    last = span.width;
    if (span.costs.steps > 0) {
      step_seconds[span.trial][span.width].push_back(span.costs.stepping / static_cast<double>(span.costs.steps));
    }
  }
  std::vector<TrialWidths> out;
  for (const auto& [trial, width] : widths) {
    if (width.first < 2) continue;
    TrialWidths of{trial, width.second, {}};
    for (auto& [each, seconds] : step_seconds[trial]) {
      std::ranges::sort(seconds);
      of.step_seconds[each] = seconds[seconds.size() / 2];
    }
    out.push_back(std::move(of));
  }
  return out;
}

std::string widths_text(const StudyView& view) {
  const auto by = [](std::int64_t workers) {
    return " by " + std::to_string(workers) + (workers == 1 ? " worker" : " workers");
  };
  const auto milliseconds = [](double seconds) {
    char text[32];
    std::snprintf(text, sizeof text, "%.3g ms", 1e3 * seconds);
    return std::string(text);
  };
  std::string text;
  std::size_t others = 0;
  for (const TrialWidths& each : trial_widths(view)) {
    const TrialView& trial = view.trials.at(each.trial.value - 1);
    if (view.end_reason || trial.outcome || trial.paused) {
      ++others;
      continue;
    }
    text += (text.empty() ? "trial " : ", trial ") + std::to_string(each.trial.value) + by(each.last);
    std::string why;
    if (const auto now = each.step_seconds.find(each.last); now != each.step_seconds.end()) {
      why = milliseconds(now->second) + " a step";
    }
    for (const auto& [width, seconds] : each.step_seconds) {
      if (width != each.last) why += (why.empty() ? "" : "; ") + milliseconds(seconds) + by(width);
    }
    if (!why.empty()) text += " (" + why + ")";
  }
  if (others == 0) return text;
  return text + (text.empty() ? "" : ", ") + std::to_string(others) + (others == 1 ? " trial" : " trials") +
         " had more than one worker at times";
}

std::vector<Waiting> trials_waiting(const StudyView& view) {
  std::vector<Waiting> waiting;
  if (view.end_reason) return waiting;
  std::vector<bool> worked(view.trials.size() + 1);
  for (const Span& span : view.spans) {
    if (span.trial.value < worked.size()) worked[span.trial.value] = true;
  }
  std::int64_t open = 0;
  for (const auto& trial : view.trials) open += trial.outcome || trial.paused ? 0 : 1;
  for (const auto& trial : view.trials) {
    if (trial.outcome) continue;
    if (trial.paused) {
      const std::int64_t epoch = trial.measurements.empty() ? 0 : trial.measurements.back().epoch;
      waiting.push_back(
          {trial.id, trial.rungs.empty() ? WaitReason::kStrategy : WaitReason::kRung,
           "paused after epoch " + std::to_string(epoch) + ": it holds no slot until the strategy takes it further"});
    } else if (!worked[trial.id.value] && trial.measurements.empty()) {
      waiting.push_back({trial.id, WaitReason::kWorker,
                         "begun, and no worker has finished an epoch of it yet: " + std::to_string(open) +
                             " trials are open, of which each worker trains some at a time"});
    }
  }
  return waiting;
}

std::string waiting_text(const std::vector<Waiting>& waiting) {
  // Texts for one trial and for several.
  constexpr std::array<std::pair<const char*, const char*>, 3> kWords{
      {{"its rung", "their rung"}, {"its strategy", "their strategy"}, {"a worker", "a worker"}}};
  std::string text;
  for (std::size_t what = 0; what < kWords.size(); ++what) {
    const auto count = std::ranges::count(waiting, static_cast<WaitReason>(what), &Waiting::what);
    if (count == 0) continue;
    text += (text.empty() ? "" : ", ") + std::to_string(count);
    if (text.find(' ') == std::string::npos) text += count == 1 ? " waits" : " wait";
    text += std::string(" for ") + (count == 1 ? kWords[what].first : kWords[what].second);
  }
  return text;
}

}  // namespace lanista::study
