#include "lanista/app/report/trace.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "lanista/app/report/facts.h"

namespace lanista::report {
namespace {

using nlohmann::json;

constexpr int kDevice = 1;  // the CPU; viewers treat process and thread 0 as idle

/// An epoch in the trace: whole microseconds, without overlap on its worker.
struct Slice {
  study::Span span;
  std::int64_t began = 0, ended = 0;
};

/// An arrow between two slices, by their positions.
struct Arrow {
  std::size_t from = 0, to = 0;
};

std::int64_t microseconds(double seconds) {
  constexpr double kMost = 9e15;  // exact in a double, the type that viewers use
  return std::isfinite(seconds) ? std::llround(std::clamp(seconds * 1e6, 0.0, kMost)) : 0;
}

/// The spans of all trials by worker and time, without overlap.
std::vector<Slice> slices_of(const study::StudyView& view) {
  std::vector<Slice> out;
  for (const study::Span& span : view.spans) out.push_back({span, microseconds(span.began), microseconds(span.ended)});
  std::stable_sort(out.begin(), out.end(), [](const Slice& a, const Slice& b) {
    return std::pair(a.span.worker, a.began) < std::pair(b.span.worker, b.began);
  });
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (i > 0 && out[i - 1].span.worker == out[i].span.worker) out[i].began = std::max(out[i].began, out[i - 1].ended);
    out[i].ended = std::max(out[i].ended, out[i].began);
  }
  return out;
}

/// Keeps the earliest `count` slices in their order. Returns the number of removed slices.
std::size_t keep_earliest(std::vector<Slice>& slices, std::size_t count) {
  if (slices.size() <= count) return 0;
  const std::size_t gone = slices.size() - count;
  std::vector<std::size_t> order(slices.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return slices[a].began < slices[b].began; });
  order.resize(count);
  std::sort(order.begin(), order.end());
  std::vector<Slice> kept;
  for (const std::size_t i : order) kept.push_back(slices[i]);
  slices = std::move(kept);
  return gone;
}

// The arrow starts at the last slice of the parent that ended before the child began.
std::vector<Arrow> arrows_of(const study::StudyView& view, const std::vector<Slice>& slices) {
  std::map<TrialId, std::vector<std::size_t>> of;
  for (std::size_t i = 0; i < slices.size(); ++i) of[slices[i].span.trial].push_back(i);
  std::vector<Arrow> arrows;
  for (const auto& [trial, mine] : of) {
    if (trial.value == 0 || trial.value > view.trials.size()) continue;
    const auto& parent = view.trials[trial.value - 1].proposal.parent;
    const auto theirs = parent ? of.find(*parent) : of.end();
    if (theirs == of.end()) continue;
    const auto earlier = [&](std::size_t a, std::size_t b) { return slices[a].began < slices[b].began; };
    const std::size_t to = *std::min_element(mine.begin(), mine.end(), earlier);
    std::optional<std::size_t> from;
    for (const std::size_t i : theirs->second) {
      if (slices[i].ended > slices[to].began) continue;
      if (!from || slices[i].ended > slices[*from].ended) from = i;
    }
    if (from) arrows.push_back({*from, to});
  }
  return arrows;
}

json event(std::string_view phase, std::int64_t at, std::int64_t worker) {
  return {{"ph", phase}, {"ts", at}, {"pid", kDevice}, {"tid", worker + 1}};
}

json name_event(std::string_view what, std::string_view name, std::optional<std::int64_t> worker = std::nullopt) {
  json out{{"ph", "M"}, {"name", what}, {"pid", kDevice}, {"args", {{"name", name}}}};
  if (worker) out["tid"] = *worker + 1;
  return out;
}

json counter_event(std::string_view name, std::int64_t at, const json& value) {
  return {{"ph", "C"}, {"name", name}, {"ts", at}, {"pid", kDevice}, {"args", {{"value", value}}}};
}

json arrow_event(std::string_view phase, const Slice& slice, std::int64_t at, std::size_t id) {
  json out = event(phase, at, slice.span.worker);
  out.update({{"name", "parent"}, {"cat", "lineage"}, {"id", id}});
  if (phase == "f") out["bp"] = "e";
  return out;
}

std::vector<json> running_trials(const std::vector<Slice>& slices) {
  std::map<TrialId, std::pair<std::int64_t, std::int64_t>> life;
  for (const Slice& slice : slices) {
    const auto [at, fresh] = life.try_emplace(slice.span.trial, slice.began, slice.ended);
    at->second.first = std::min(at->second.first, slice.began);
    at->second.second = std::max(at->second.second, slice.ended);
  }
  std::map<std::int64_t, std::int64_t> change;
  for (const auto& [trial, times] : life) {
    ++change[times.first];
    --change[times.second];
  }
  std::vector<json> out;
  std::int64_t trials = 0;
  for (const auto& [at, by] : change) {
    if (by != 0) out.push_back(counter_event("trials under way", at, trials += by));
  }
  return out;
}

/// Counter events of the best value of the first goal, at each improvement.
std::vector<json> best_value_counters(const study::StudyView& view) {
  if (view.config.goals.empty()) return {};
  const study::Goal& goal = view.config.goals.front();
  const auto times = trial_times(view);
  std::vector<std::pair<std::int64_t, double>> values;
  for (const study::TrialView& trial : view.trials) {
    for (const study::Measurement& measurement : trial.measurements) {
      const auto value = measurement.metrics.find(goal.metric);
      const auto over = times[trial.id.value - 1].epochs.find(measurement.epoch);
      if (value == measurement.metrics.end() || !std::isfinite(value->second)) continue;
      if (over == times[trial.id.value - 1].epochs.end()) continue;
      values.emplace_back(microseconds(over->second), value->second);
    }
  }
  std::sort(values.begin(), values.end());
  std::vector<json> out;
  std::optional<double> best;
  for (const auto& [at, value] : values) {
    if (best && !(goal.maximize ? value > *best : value < *best)) continue;
    best = value;
    out.push_back(counter_event("best " + goal.metric, at, value));
  }
  return out;
}

/// One event a line.
class TraceText {
 public:
  void add(const json& event) { text_ += (text_.empty() ? "" : ",\n") + dump(event); }
  std::string finish(const json& facts) && {
    return "{\"displayTimeUnit\":\"ms\",\"otherData\":" + dump(facts) + ",\"traceEvents\":[\n" + text_ + "\n]}\n";
  }

 private:
  std::string text_;
};

std::string epoch_name(const study::Span& span) {
  return "#" + std::to_string(span.trial.value) + " epoch " + std::to_string(span.epoch);
}

// Viewers attach an arrow to the slice that is open at its time, so it is after the start and before the end.
void add_slices(TraceText& text, const std::vector<Slice>& slices, const std::vector<Arrow>& arrows) {
  std::map<std::size_t, std::size_t> into;
  std::map<std::size_t, std::vector<std::size_t>> out_of;
  for (std::size_t i = 0; i < arrows.size(); ++i) {
    into[arrows[i].to] = i;
    out_of[arrows[i].from].push_back(i);
  }
  for (std::size_t i = 0; i < slices.size(); ++i) {
    const Slice& slice = slices[i];
    json begin = event("B", slice.began, slice.span.worker);
    begin["name"] = epoch_name(slice.span);
    begin["args"] = {{"trial", slice.span.trial.value}, {"epoch", slice.span.epoch}};
    text.add(begin);
    if (const auto found = into.find(i); found != into.end()) {
      text.add(arrow_event("f", slice, slice.began, found->second + 1));
    }
    if (const auto found = out_of.find(i); found != out_of.end()) {
      for (const std::size_t arrow : found->second) text.add(arrow_event("s", slice, slice.ended, arrow + 1));
    }
    text.add(event("E", slice.ended, slice.span.worker));
  }
}

}  // namespace

std::string chrome_trace(const study::StudyView& view, const TraceOptions& options) {
  std::vector<Slice> slices = slices_of(view);
  std::set<std::int64_t> workers;
  for (const Slice& slice : slices) workers.insert(slice.span.worker);
  std::vector<json> counters = running_trials(slices);
  for (json& counter : best_value_counters(view)) counters.push_back(std::move(counter));
  std::vector<Arrow> arrows = arrows_of(view, slices);

  json dropped{{"arrows", 0}, {"counters", 0}, {"spans", 0}};
  const std::size_t names = 1 + workers.size();
  const auto byte_limit = [&](std::size_t used) { return options.events - std::min(options.events, names + used); };
  if (2 * slices.size() + counters.size() + 2 * arrows.size() > byte_limit(0)) {
    dropped["arrows"] = std::exchange(arrows, {}).size();
  }
  if (2 * slices.size() + counters.size() > byte_limit(0)) dropped["counters"] = std::exchange(counters, {}).size();
  dropped["spans"] = keep_earliest(slices, byte_limit(0) / 2);

  TraceText text;
  text.add(name_event("process_name", "cpu"));
  for (const std::int64_t worker : workers) {
    text.add(name_event("thread_name", "worker " + std::to_string(worker), worker));
  }
  add_slices(text, slices, arrows);
  for (const json& counter : counters) text.add(counter);
  return std::move(text).finish({{"study", view.config.name}, {"v", 1}, {"dropped", dropped}});
}

}  // namespace lanista::report
