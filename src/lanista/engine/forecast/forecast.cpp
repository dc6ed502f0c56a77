#include "lanista/engine/forecast/forecast.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "lanista/plan/elastic/elastic.h"
#include "lanista/plan/elastic/first_come.h"

namespace lanista::engine {
namespace {

using nlohmann::json;
using plan::Arrival;
using plan::Prediction;

/// A source of trials in order, with at most `slots` active ones.
class Slots : public plan::TrialSource {
 public:
  Slots(const std::vector<Arrival>& trials, std::int64_t slots)
      : trials_(trials), slots_(static_cast<std::size_t>(slots)) {}
  std::vector<Arrival> next(std::span<const plan::TrialEnd>, std::size_t waiting, std::size_t running) override {
    std::vector<Arrival> asked;
    while (at_ < trials_.size() && waiting + running + asked.size() < slots_) asked.push_back(trials_[at_++]);
    return asked;
  }

 private:
  const std::vector<Arrival>& trials_;
  std::size_t slots_, at_ = 0;
};

Arrival arrival_of(TrialId trial, double seconds, double bytes, const ClusterFile& on) {
  const Prediction prediction =
      plan::prediction_of(seconds, on.serial_fraction, on.busy_fraction, bytes, on.resize_seconds);
  return {static_cast<std::int64_t>(trial.value), prediction, prediction, {}};
}

Result<Forecast> forecast(const std::vector<Arrival>& trials, std::int64_t slots, const ClusterFile& on,
                          std::string basis) {
  Forecast out;
  out.cluster = on.cluster;
  out.trials = static_cast<std::int64_t>(trials.size());
  out.slots = slots;
  out.basis = std::move(basis);
  std::vector<Prediction> predictions;
  for (const Arrival& trial : trials) predictions.push_back(trial.expected);
  out.bounds = plan::bounds_of(predictions, on.cluster);
  Slots source(trials, slots), again(trials, slots);
  const auto ours = plan::elastic(), fifo = plan::first_come();
  LANISTA_ASSIGN(out.course, plan::simulate(on.cluster, source, *ours));
  LANISTA_ASSIGN(const plan::ScheduleResult first_come, plan::simulate(on.cluster, again, *fifo));
  out.fifo_seconds = first_come.makespan;
  return out;
}

std::string format_number(const char* pattern, double value) {
  char text[64];
  std::snprintf(text, sizeof text, pattern, value);
  return text;
}

std::string seconds_text(double seconds) { return format_number(seconds < 100 ? "%.2f s" : "%.0f s", seconds); }

/// Width of a placement as text: "1/2", "1", "3".
std::string width_text(const plan::Placement& placement) {
  return placement.parts > 1 ? "1/" + std::to_string(placement.parts) : std::to_string(placement.workers.size());
}

/// The load of a worker in each part of the time: '.' idle, a digit: number of trials, '=': part of a wider trial.
std::string worker_line(const Forecast& forecast, std::int32_t worker, int columns) {
  std::string line(static_cast<std::size_t>(columns), '.');
  for (int column = 0; column < columns; ++column) {
    const double at = (column + 0.5) * forecast.course.makespan / columns;
    std::int64_t count = 0;
    bool wide = false;
    for (const plan::PlacementInterval& stretch : forecast.course.placement_intervals) {
      if (at < stretch.began || at >= stretch.ended) continue;
      if (std::ranges::find(stretch.placement.workers, worker) == stretch.placement.workers.end()) continue;
      ++count;
      wide = wide || stretch.placement.workers.size() > 1;
    }
    char& mark = line[static_cast<std::size_t>(column)];
    if (wide) mark = '=';
    if (!wide && count > 0) mark = count > 9 ? '9' : static_cast<char>('0' + count);
  }
  return line;
}

}  // namespace

double Forecast::relative_gap() const {
  // A makespan may equal the bound except for rounding.
  return bounds.best() > 0 ? std::max(0.0, course.makespan / bounds.best() - 1) : 0;
}

Result<Forecast> forecast_log(const study::StudyView& view, const ClusterFile& on) {
  std::map<TrialId, double> seconds;
  for (const study::Span& span : view.spans) seconds[span.trial] += std::max(0.0, span.ended - span.began);
  std::vector<Arrival> trials;
  for (const auto& [trial, worked] : seconds) trials.push_back(arrival_of(trial, worked, 0, on));
  if (trials.empty()) {
    return Error{Code::kFailedPrecondition, "this study has no recorded work yet, so its times are unknown", ""};
  }
  return forecast(trials, view.config.strategy.slots, on, "measured: seconds of workers for each trial");
}

Result<Forecast> forecast_plan(const StudyPlan& plan, std::int64_t slots, const ClusterFile& on,
                               ExtraStepsCount extra_steps_count) {
  std::vector<Arrival> trials(plan.predicted.graph.members.size());
  for (const sharing::FusedGroup& group : plan.predicted.groups) {
    const auto members = group.members();
    const double us = group.us / static_cast<double>(members.size());
    for (const std::size_t m : members) {
      const sharing::FusionMember& member = plan.predicted.graph.members[m];
      const auto& recipe = member.recipe;
      const auto own =
          std::ceil(static_cast<double>(recipe.data.num_samples) / static_cast<double>(recipe.batch_size)) *
          static_cast<double>(recipe.epochs);
      const auto expected = static_cast<double>(plan.extra[m].expected_steps());
      const double more =
          extra_steps_count == ExtraStepsCount::kMaximum ? static_cast<double>(plan.extra[m].most) - expected : 0;
      const double bytes = static_cast<double>(group.bytes) / static_cast<double>(members.size());
      const double seconds =
          plan.times.empty() ? (own + expected + more) * us * 1e-6 : plan.times[m].seconds + more * plan.times[m].step;
      trials[m] = arrival_of(member.trial, seconds, bytes, on);
    }
  }
  if (!plan.times.empty()) {
    const auto measured = std::ranges::count_if(plan.times, &MemberTime::measured);
    return forecast(trials, slots, on,
                    "of earlier studies: " + std::to_string(measured) + " of " + std::to_string(plan.times.size()) +
                        " trials by times of their programs, the others by regression (" + plan.known +
                        "); with evaluation, each trial to its full budget");
  }
  return forecast(trials, slots, on,
                  "predicted from the cost of a step; training only, no evaluation, each trial to its full budget");
}

std::string forecast_text(const Forecast& forecast) {
  constexpr int kColumns = 64;
  constexpr std::int32_t kMostLines = 64;
  const plan::ScheduleResult& course = forecast.course;
  std::string text =
      std::to_string(forecast.trials) + " trials, " + std::to_string(forecast.slots) + " at a time, on " +
      std::to_string(forecast.cluster.workers) + " workers, simulated\n" +
      (forecast.ended_early > 0 ? "halving      " + std::to_string(forecast.ended_early) + " trials end early, " +
                                      std::to_string(forecast.resumptions) + " resumptions from a rung\n"
                                : "") +
      "times        " + forecast.basis + "\n" + "makespan     " + seconds_text(course.makespan) +
      "   (one trial a worker, in order: " + seconds_text(forecast.fifo_seconds) + ")\n" + "utilisation  " +
      format_number("%.0f %%", 100 * course.utilisation()) + "\n" + "dual bound   " +
      seconds_text(forecast.bounds.dual) + "   (work " + seconds_text(forecast.bounds.area) + ", longest trial " +
      seconds_text(forecast.bounds.longest) + ", with changes of width " + seconds_text(forecast.bounds.best()) +
      ")\n" + "gap          " + format_number("%.1f %%", 100 * forecast.relative_gap()) + " over the least time\n" +
      "changes      " + std::to_string(course.resizes) + " of width, " + seconds_text(course.resize_seconds) + "\n\n";
  const auto lines = static_cast<std::int32_t>(std::min<std::int64_t>(forecast.cluster.workers, kMostLines));
  for (std::int32_t worker = 0; worker < lines; ++worker) {
    text += format_number("%4.0f ", worker) + worker_line(forecast, worker, kColumns) + "\n";
  }
  if (lines < forecast.cluster.workers)
    text += "     and " + std::to_string(forecast.cluster.workers - lines) + " more\n";
  return text + "     0" + std::string(kColumns - seconds_text(course.makespan).size() - 1, ' ') +
         seconds_text(course.makespan) + "   1-9: trials that share it, =: part of a wider one, .: idle\n";
}

std::string forecast_time_text(const Forecast& forecast, double most) {
  return "training needs about " + seconds_text(forecast.course.makespan) + " on " +
         std::to_string(forecast.cluster.workers) + (forecast.cluster.workers == 1 ? " worker" : " workers") +
         " if every trial gets its full budget" +
         (most > 0 ? ", and " + seconds_text(most) + " with as many discarded steps as the rules allow; " : "; ") +
         seconds_text(forecast.bounds.best()) + " is the least possible time\n";
}

json forecast_json(const Forecast& forecast) {
  json stretches = json::array();
  for (const plan::PlacementInterval& stretch : forecast.course.placement_intervals) {
    stretches.push_back({{"trial", stretch.id},
                         {"workers", stretch.placement.workers},
                         {"width", width_text(stretch.placement)},
                         {"began", stretch.began},
                         {"ended", stretch.ended}});
  }
  return {{"v", 1},
          {"trials", forecast.trials},
          {"slots", forecast.slots},
          {"ended_early", forecast.ended_early},
          {"resumptions", forecast.resumptions},
          {"workers", forecast.cluster.workers},
          {"basis", forecast.basis},
          {"makespan", forecast.course.makespan},
          {"first_come", forecast.fifo_seconds},
          {"utilisation", forecast.course.utilisation()},
          {"dual_bound", forecast.bounds.dual},
          {"bound", forecast.bounds.best()},
          {"area_bound", forecast.bounds.area},
          {"longest_bound", forecast.bounds.longest},
          {"gap", forecast.relative_gap()},
          {"resizes", forecast.course.resizes},
          {"resize_seconds", forecast.course.resize_seconds},
          {"timeline", std::move(stretches)}};
}

}  // namespace lanista::engine
