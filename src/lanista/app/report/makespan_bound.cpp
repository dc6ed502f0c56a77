#include "lanista/app/report/makespan_bound.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <optional>

#include "lanista/search/study/host_usage.h"

namespace lanista::report {
namespace {

using study::StudyView;

/// The share of a step's time that more workers do not shorten, as in plan::prediction_of. It compares the largest
/// measured number of workers with one worker.
std::optional<double> serial_part(const std::map<std::int64_t, double>& step_seconds) {
  if (step_seconds.size() < 2 || step_seconds.begin()->first != 1) return std::nullopt;
  const auto& [width, seconds] = *step_seconds.rbegin();
  const double alone = step_seconds.begin()->second, workers = static_cast<double>(width);
  if (!(alone > 0)) return std::nullopt;
  return std::clamp((workers * seconds / alone - 1) / (workers - 1), 0.0, 1.0);
}

/// The gain of each trial from more workers.
class WidthSpeedups {
 public:
  explicit WidthSpeedups(const StudyView& view) : can_share_(view.config.train.numerics.shards > 1) {
    std::vector<double> all;
    for (const study::TrialWidths& widths : study::trial_widths(view)) {
      widened_[widths.trial] = serial_part(widths.step_seconds);
      if (const auto& serial = widened_[widths.trial]) all.push_back(*serial);
    }
    measured_ = std::ssize(all);
    std::ranges::sort(all);
    if (!all.empty()) others_ = all[all.size() / 2];
  }
  double serial(TrialId trial) const {
    const auto it = widened_.find(trial);
    if (it == widened_.end()) return can_share_ && !widened_.empty() ? others_ : 1;
    return it->second.value_or(others_);
  }
  std::int64_t measured() const { return measured_; }

 private:
  bool can_share_;
  std::map<TrialId, std::optional<double>> widened_;
  double others_ = 0;
  std::int64_t measured_ = 0;
};

/// Seconds between the first work and the last in which no worker worked.
double seconds_without_work(std::vector<study::WorkerInterval> all) {
  std::ranges::sort(all, {}, &study::WorkerInterval::began);
  double seconds = 0;
  for (double until = all.empty() ? 0 : all.front().began; const study::WorkerInterval& interval : all) {
    seconds += std::max(0.0, interval.began - until);
    until = std::max(until, interval.ended);
  }
  return seconds;
}

std::string seconds_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, seconds < 100 ? "%.3g s" : "%.0f s", seconds);
  return text;
}

}  // namespace

double MakespanBound::gap() const {
  if (!(seconds() > 0)) return 0;
  const double gap = measured_seconds / seconds() - 1;
  return std::abs(gap) < 1e-9 ? 0 : gap;
}

MakespanBound makespan_bound(const StudyView& view) {
  const WidthSpeedups gains(view);
  const study::WorkerUsage use = study::worker_usage(view);
  MakespanBound out;
  out.workers = use.workers();
  out.gains_measured = gains.measured();
  const std::vector<study::WorkerInterval> timeline = study::worker_timeline(view);
  if (view.workers.lost > 0) out.waited_seconds = seconds_without_work(timeline);
  out.measured_seconds = use.seconds - out.waited_seconds;
  std::map<TrialId, double> alone;  // seconds with one worker
  for (const study::WorkerInterval& go : timeline) {
    if (go.leader) continue;
    out.widest = std::max(out.widest, go.width);
    const double width = static_cast<double>(go.width);
    for (const study::WorkerInterval::TimeSlice& slice : go.slices) {
      const TrialId trial = view.spans[slice.span].trial;
      alone[trial] += slice.seconds * width / (1 + gains.serial(trial) * (width - 1));
    }
  }
  out.trials = std::ssize(alone);
  if (alone.empty()) return out;
  std::vector<plan::Prediction> trials;
  for (const auto& [trial, seconds] : alone) trials.push_back(plan::prediction_of(seconds, gains.serial(trial)));
  plan::Cluster cluster;
  cluster.workers = out.workers;
  cluster.shares = 1;
  cluster.widest = out.widest;
  out.bounds = plan::bounds_of(trials, cluster);
  return out;
}

std::string bounds_text(const MakespanBound& bound) {
  std::string text = "all work spread evenly " + seconds_text(bound.bounds.area) + ", the longest trial " +
                     seconds_text(bound.bounds.longest);
  if (bound.widest > 1) {
    text += ", both together " + seconds_text(bound.bounds.elastic) + ", with fixed widths " +
            seconds_text(bound.bounds.dual);
  }
  text += ". Measured: the share of its worker that each of " + std::to_string(bound.trials) +
          " trials had. Assumed: all could begin at once, and a trial needs alone the time that it needed as one of "
          "several lanes";
  if (bound.widest > 1) {
    text += bound.gains_measured > 0 ? "; the gain from more workers was measured for " +
                                           std::to_string(bound.gains_measured) + " trials, the others have the median"
                                     : "; the gain from more workers was not measured, and is assumed to be linear";
  }
  text += ".";
  if (bound.waited_seconds > 0) {
    text +=
        " Not counted: " + seconds_text(bound.waited_seconds) + " in which no worker worked, since workers were lost.";
  }
  return text;
}

std::vector<WorkerActivity> worker_activities(const StudyView& view) {
  std::vector<WorkerActivity> out;
  if (view.end_reason) return out;
  const study::WorkerUsage use = study::worker_usage(view);
  std::map<TrialId, const study::Span*> newest;  // a trial that moved is with its new worker
  for (const study::Span& span : view.spans) {
    const study::Span*& known = newest[span.trial];
    if (known == nullptr || span.ended >= known->ended) known = &span;
  }
  std::map<std::int64_t, study::WorkerInterval> last;
  for (study::WorkerInterval& go : study::worker_timeline(view)) {
    const auto [it, fresh] = last.try_emplace(go.worker, go);
    if (!fresh && go.ended >= it->second.ended) it->second = std::move(go);
  }
  for (const auto& [worker, go] : last) {
    WorkerActivity now;
    now.worker = worker;
    now.width = go.width;
    now.leader = go.leader;
    now.host = study::host_of(view.workers, worker);
    if (const std::size_t host = view.spans[go.slices.front().span].host;
        now.host.empty() && !go.leader && host > 0 && host <= view.workers.hosts.size()) {
      now.host = view.workers.hosts[host - 1].name;
    }
    now.busy = use.seconds > 0 ? use.busy.at(worker) / use.seconds : 0;
    for (const study::WorkerInterval::TimeSlice& slice : go.slices) {
      const TrialId trial = view.spans[slice.span].trial;
      if (trial.value < 1 || trial.value > view.trials.size()) continue;
      const study::TrialView& of = view.trials[trial.value - 1];
      const bool is_here = newest.at(trial)->worker == go.leader.value_or(worker);
      if (!of.outcome && !of.paused && is_here) now.trials.push_back(trial);
    }
    now.lanes = std::max<std::int64_t>(1, std::ssize(now.trials));
    out.push_back(std::move(now));
  }
  return out;
}

std::string activity_text(const WorkerActivity& now) {
  char busy[32];
  std::snprintf(busy, sizeof busy, "%.0f %%", 100 * now.busy);
  std::string text = study::worker_text(now.worker, now.host) + ", " + busy + " busy:";
  if (now.trials.empty()) return text + " nothing under way";
  if (now.leader) text += " helps worker " + std::to_string(*now.leader) + " with";
  constexpr std::size_t kMost = 8;
  for (std::size_t k = 0; k < std::min(kMost, now.trials.size()); ++k) {
    text += " #" + std::to_string(now.trials[k].value);
  }
  if (now.trials.size() > kMost) text += " and " + std::to_string(now.trials.size() - kMost) + " more";
  if (now.trials.size() > 1) text += " in turns";
  if (!now.leader && now.width > 1) text += " by " + std::to_string(now.width) + " workers";
  return text;
}

}  // namespace lanista::report
