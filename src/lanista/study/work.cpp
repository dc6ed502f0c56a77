#include "lanista/study/work.h"

#include <algorithm>
#include <array>
#include <utility>

namespace lanista::study {

double WorkerUse::busy_seconds() const {
  double sum = 0;
  for (const auto& [worker, worked] : busy) sum += worked;
  return sum;
}

WorkerUse worker_use(const StudyView& view) {
  WorkerUse use;
  std::map<TrialId, double> seconds;
  std::map<std::int64_t, std::vector<std::pair<double, double>>> of_worker;
  double first = 0, last = 0;
  for (const Span& span : view.spans) {
    const double ended = std::max(span.began, span.ended);
    first = of_worker.empty() ? span.began : std::min(first, span.began);
    last = of_worker.empty() ? ended : std::max(last, ended);
    of_worker[span.worker].emplace_back(span.began, ended);
    seconds[span.trial] += ended - span.began;
  }
  use.seconds = last - first;
  for (auto& [worker, spans] : of_worker) {
    std::ranges::sort(spans);
    double& busy = use.busy[worker];
    double until = first;
    for (const auto& [began, ended] : spans) {  // whose ends may overlap by rounding
      busy += std::max(0.0, ended - std::max(began, until));
      until = std::max(until, ended);
    }
  }
  if (use.busy.empty()) return use;
  double longest = 0;
  for (const auto& [trial, worked] : seconds) longest = std::max(longest, worked);
  use.bound = std::max(use.busy_seconds() / static_cast<double>(use.workers()), longest);
  return use;
}

std::vector<Waiting> waiting_trials(const StudyView& view) {
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
      waiting.push_back({trial.id, trial.rungs.empty() ? WaitsFor::kStrategy : WaitsFor::kRung,
                         "paused after epoch " + std::to_string(epoch) +
                                       ": it holds no slot until the strategy takes it further"});
    } else if (!worked[trial.id.value] && trial.measurements.empty()) {
      waiting.push_back({trial.id, WaitsFor::kWorker,
                         "begun, and no worker has finished an epoch of it yet: " + std::to_string(open) +
                                       " trials are open, of which each worker trains some at a time"});
    }
  }
  return waiting;
}

std::string waiting_text(const std::vector<Waiting>& waiting) {
  // What one waits for, and several.
  constexpr std::array<std::pair<const char*, const char*>, 3> kWords{
      {{"its rung", "their rung"}, {"its strategy", "their strategy"}, {"a worker", "a worker"}}};
  std::string text;
  for (std::size_t what = 0; what < kWords.size(); ++what) {
    const auto count = std::ranges::count(waiting, static_cast<WaitsFor>(what), &Waiting::what);
    if (count == 0) continue;
    text += (text.empty() ? "" : ", ") + std::to_string(count);
    if (text.find(' ') == std::string::npos) text += count == 1 ? " waits" : " wait";
    text += std::string(" for ") + (count == 1 ? kWords[what].first : kWords[what].second);
  }
  return text;
}

}  // namespace lanista::study
