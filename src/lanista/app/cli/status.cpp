#include "lanista/app/cli/status.h"

#include <algorithm>
#include <cstdio>

#include "lanista/app/cli/terminal.h"
#include "lanista/app/report/makespan_bound.h"
#include "lanista/base/printable.h"
#include "lanista/base/real_json.h"
#include "lanista/search/study/bracket_counts.h"
#include "lanista/search/study/host_usage.h"
#include "lanista/search/study/noise_band.h"
#include "lanista/search/study/record_fields.h"
#include "lanista/search/study/select_branches.h"
#include "lanista/search/study/start_race.h"
#include "lanista/search/study/tune_searches.h"
#include "lanista/search/study/worker_usage.h"

namespace lanista::cli {
namespace {

using nlohmann::json;

struct Counts {
  std::size_t running = 0, paused = 0;
  study::TrainingCounts ended;
};

Counts count(const study::StudyView& view) {
  Counts counts;
  for (const auto& trial : view.trials) {
    if (trial.outcome) {
      counts.ended.count(trial.outcome->kind);
    } else {
      ++(trial.paused ? counts.paused : counts.running);
    }
  }
  return counts;
}

/// For a proposal with several trainings: their number, and the mean and spread of each metric that all have. Null for
/// one training.
json trainings_json(const study::StudyView& view, const study::TrialView& trial) {
  const std::vector<study::Measurement> joint = study::joint_results(view.config, study::trainings_of(view, trial));
  if (joint.size() < 2) return {};
  std::vector<const study::Measurement*> together;
  for (const study::Measurement& m : joint) together.push_back(&m);
  json metrics = json::object();
  for (const auto& [name, value] : joint.front().metrics) {
    const auto spread = study::spread_of(together, name);
    if (!spread) continue;
    metrics[name] = {{"mean", real_json(spread->mean)},
                     {"deviation", real_json(spread->deviation)},
                     {"standard_error", real_json(spread->standard_error)}};
  }
  json out{{"count", joint.size()}, {"metrics", std::move(metrics)}};
  if (view.config.data.folds) out["folds"] = *view.config.data.folds;
  return out;
}

/// The metric of a proposal: that of its only training, or the average of several.
std::optional<double> value_of(const study::StudyView& view, const study::TrialView& trial, const std::string& metric) {
  study::Measurement result = study::result_of(view.config, trial);
  const std::vector<study::Measurement> joint = study::joint_results(view.config, study::trainings_of(view, trial));
  std::vector<const study::Measurement*> together;
  for (const study::Measurement& m : joint) together.push_back(&m);
  if (together.size() > 1) result = study::average(view.config, together);
  const auto value = result.metrics.find(metric);
  return value == result.metrics.end() ? std::nullopt : std::optional(value->second);
}

/// The worker processes of a study: present, lost, hosts and moves.
json workers_json(const study::StudyView& view) {
  const study::WorkerHistory& workers = view.workers;
  json present = json::array();
  for (const auto& each : workers.present) {
    present.push_back({{"worker", each.worker}, {"process", each.process}});
    if (!each.host.empty()) present.back()["host"] = each.host;
  }
  json out{{"present", std::move(present)}, {"lost", workers.lost}, {"lost_seconds", real_json(workers.lost_seconds)}};
  for (const study::HostUsage& use : study::host_usage(view)) {
    out["hosts"].push_back({{"host", use.name}, {"present", use.present}, {"lost", use.lost}, {"share", use.share}});
  }
  if (const study::MoveCounts moves = study::move_counts(view); moves.moves > 0) {
    out["moves"] = {{"count", moves.moves}, {"trials", moves.trials}, {"seconds", real_json(moves.seconds)}};
  }
  if (!workers.last) return out;
  out["last_lost"] = {{"worker", workers.last->worker},
                      {"process", workers.last->process},
                      {"reason", workers.last->reason},
                      {"trials", workers.last->trials},
                      {"seconds", real_json(workers.last->seconds)}};
  if (!workers.last->host.empty()) out["last_lost"]["host"] = workers.last->host;
  return out;
}

std::string workers_text(const study::StudyView& view) {
  const study::WorkerHistory& workers = view.workers;
  std::string text;
  if (!view.end_reason && !workers.present.empty()) {
    text = "  worker processes";
    for (const auto& each : workers.present) text += " " + std::to_string(each.process);
  }
  if (workers.lost == 0) return text;
  text += "  " + std::to_string(workers.lost) + (workers.lost == 1 ? " worker" : " workers") + " lost";
  if (workers.last) {
    text += " (the last " + (workers.last->host.empty() ? "" : "on " + workers.last->host + " ") + workers.last->reason;
    text += ")";
  }
  if (const std::string moves = study::moves_text(study::move_counts(view)); !moves.empty()) text += "  " + moves;
  return text;
}

json bounds_json(const report::MakespanBound& bound) {
  json bounds{{"area", bound.bounds.area}, {"longest", bound.bounds.longest}, {"dual", bound.bounds.dual}};
  json out{{"bound_seconds", bound.seconds()}, {"bounds", std::move(bounds)}, {"gap", bound.gap()}};
  if (bound.waited_seconds > 0) out["waited_seconds"] = bound.waited_seconds;
  return out;
}

json current_work_json(const study::StudyView& view) {
  json out = json::array();
  for (const report::WorkerActivity& now : report::worker_activities(view)) {
    json trials = json::array();
    for (const TrialId trial : now.trials) trials.push_back(trial.value);
    out.push_back({{"worker", now.worker},
                   {"busy", now.busy},
                   {"trials", std::move(trials)},
                   {"lanes", now.lanes},
                   {"width", now.width}});
    if (now.leader) out.back()["helps"] = *now.leader;
    if (!now.host.empty()) out.back()["host"] = now.host;
  }
  return out;
}

/// One line for each of the first few, then the number of the others.
template <typename Things, typename Text>
std::string lines_of(const Things& things, const std::string& noun, const Text& text_of) {
  constexpr std::size_t kMost = 8;
  std::string text;
  for (std::size_t k = 0; k < std::min(kMost, things.size()); ++k) text += "\n  " + printable(text_of(things[k]));
  if (things.size() > kMost) text += "\n  and " + std::to_string(things.size() - kMost) + " more " + noun;
  return text;
}

/// One line a host, if hosts are known, and one line a worker.
std::string worker_lines(const study::StudyView& view) {
  const bool has_ended = view.end_reason.has_value();
  return lines_of(study::host_usage(view), "hosts",
                  [&](const study::HostUsage& use) { return study::host_text(use, has_ended); }) +
         lines_of(report::worker_activities(view), "workers", report::activity_text);
}

std::string percent(double part) {
  char text[32];
  std::snprintf(text, sizeof text, "%.0f %%", 100 * part);
  return text;
}

}  // namespace

json status_json(const std::string& folder, const study::StudyView& view) {
  const Counts counts = count(view);
  json out{{"v", 1},
           {"folder", folder},
           {"name", view.config.name},
           {"trials", view.trials.size()},
           {"under_way", counts.running},
           {"paused", counts.paused},
           {"finished", counts.ended.succeeded + counts.ended.duplicate},
           {"stopped", counts.ended.stopped},
           {"failed", counts.ended.failed},
           {"cancelled", counts.ended.cancelled},
           {"implied", counts.ended.implied},
           {"steps", view.steps},
           {"seconds", view.seconds},
           {"ended", view.end_reason.has_value()}};
  if (view.end_reason) out["end_reason"] = *view.end_reason;
  if (const std::int64_t raced = study::discarded_race_steps(view); raced > 0) out["raced_steps"] = raced;
  if (const std::int64_t discarded = study::discarded_selection_steps(view); discarded > 0) {
    out["select_steps_given_up"] = discarded;
  }
  if (const study::WorkerUsage use = study::worker_usage(view); use.seconds > 0) {
    out["workers"] = {{"count", use.workers()}, {"seconds", use.seconds}, {"utilisation", use.utilisation()}};
    out["workers"].update(bounds_json(report::makespan_bound(view)));
    if (json now = current_work_json(view); !now.empty()) out["workers"]["now"] = std::move(now);
  }
  if (const study::SearchCounts searches = study::search_counts(view); searches.searches > 0) {
    out["searches"] = {{"trials", searches.trials},
                       {"count", searches.searches},
                       {"won", searches.successful},
                       {"branches", searches.branches},
                       {"steps_given_up", searches.discarded}};
  }
  for (const study::Waiting& waiting : study::trials_waiting(view)) {
    out["waiting"].push_back({{"trial", waiting.trial.value}, {"why", waiting.why}});
  }
  for (const study::TrialWidths& widths : study::trial_widths(view)) {
    json seconds = json::object();
    for (const auto& [width, step] : widths.step_seconds) seconds[std::to_string(width)] = step;
    out["widths"].push_back({{"trial", widths.trial.value}, {"last", widths.last}, {"step_seconds", seconds}});
  }
  if (const auto ranked = study::ranking(view); !ranked.empty()) {
    const auto& best = view.trials[ranked.front().value - 1];
    const study::Measurement& result = study::result_of(view.config, best);
    out["best"] = {{"trial", best.id.value},
                   {"kept_epoch", result.epoch},
                   {"metrics", study::fields::metrics_json(result.metrics)}};
    if (const json trainings = trainings_json(view, best); !trainings.is_null()) out["best"]["trainings"] = trainings;
  }
  if (!view.workers.present.empty() || view.workers.lost > 0) out["workers"].update(workers_json(view));
  for (const study::HostUsage& use : study::host_usage(view)) {
    if (use.is_device) out["workers"]["devices"].push_back({{"device", use.name}, {"share", use.share}});
  }
  if (view.winner) out["test"] = study::fields::metrics_json(view.test);
  if (view.ensemble) {
    const std::vector<double> shares = view.ensemble->shares();
    json members = json::array();
    for (std::size_t k = 0; k < shares.size(); ++k) {
      members.push_back({{"trial", view.ensemble->members[k].trial.value}, {"share", shares[k]}});
    }
    out["ensemble"] = {{"members", members},
                       {"validation", study::fields::metrics_json(view.ensemble->validation)},
                       {"test", study::fields::metrics_json(view.ensemble->test)}};
  }
  if (const auto noise = study::noise_band(view, study::ranking_keys(view))) {
    out["noise"] = {{"low", noise->band.low}, {"high", noise->band.high}, {"trials", noise->trials}};
    if (noise->trainings > 0) {
      out["noise"]["trainings"] = noise->trainings;
    } else {
      out["noise"]["rows"] = noise->rows;
    }
  }
  if (!view.baselines.empty()) out["baselines"] = study::baselines_json(view.baselines);
  if (const auto verdict = study::baseline_verdict(view, study::ranking_keys(view))) {
    out["unbeaten"] = {{"baseline", verdict->name}, {"better", verdict->is_better}};
  }
  for (const study::BracketCounts& bracket : study::bracket_counts(view)) {
    json further = json::object();
    for (const auto& [epoch, trials] : bracket.further) further[std::to_string(epoch)] = trials;
    out["brackets"].push_back({{"first_rung", bracket.first}, {"trials", bracket.trials}, {"let_train_to", further}});
  }
  if (view.config.goals.size() > 1) {
    out["pareto_front"] = json::array();
    for (const TrialId id : study::pareto_front(study::ranking_keys(view))) out["pareto_front"].push_back(id.value);
  }
  return out;
}

std::string status_text(const std::string& folder, const study::StudyView& view) {
  const Counts counts = count(view);
  std::string text =
      folder + "  " + (view.end_reason ? "ended (" + *view.end_reason + ")" : std::string("not ended")) + "  " +
      std::to_string(view.trials.size()) +
      " trials: " + std::to_string(counts.ended.succeeded + counts.ended.duplicate) + " finished, " +
      std::to_string(counts.ended.stopped) + " stopped, " + std::to_string(counts.ended.failed) + " failed, " +
      std::to_string(counts.running) + " under way" +
      (counts.paused > 0 ? ", " + std::to_string(counts.paused) + " paused" : "") +
      (counts.ended.cancelled > 0 ? ", " + std::to_string(counts.ended.cancelled) + " cancelled" : "") +
      (counts.ended.implied > 0 ? ", " + std::to_string(counts.ended.implied) + " pruned by rules, not trained" : "") +
      "  " + clock_text(view.seconds);
  if (const auto ranked = study::ranking(view); !ranked.empty()) {
    const auto& best = view.trials[ranked.front().value - 1];
    const auto& metric = view.config.goals.front().metric;
    if (const auto value = value_of(view, best, metric)) {
      text += "  best " + metric + " " + four_digits(*value) + " (#" + std::to_string(best.id.value) + ")";
    }
  }
  if (const study::WorkerUsage use = study::worker_usage(view); use.seconds > 0) {
    const report::MakespanBound bound = report::makespan_bound(view);
    text += "  workers " + std::to_string(use.workers()) + ", busy " + percent(use.utilisation()) + ", " +
            percent(bound.gap()) + " over the least time";
    if (bound.waited_seconds >= 1)
      text += ", which leaves out " + clock_text(bound.waited_seconds) + " in which no worker made progress";
  }
  if (const std::string waiting = study::waiting_text(study::trials_waiting(view)); !waiting.empty()) {
    text += "  " + waiting;
  }
  if (const std::string widths = study::widths_text(view); !widths.empty()) text += "  " + widths;
  if (const std::string searches = study::searches_text(study::search_counts(view)); !searches.empty()) {
    text += "  " + searches;
  }
  text = printable(text + workers_text(view)) + worker_lines(view);
  for (const study::BracketCounts& bracket : study::bracket_counts(view)) {
    text += "\n  " + std::to_string(bracket.trials) + " trials from epoch " + std::to_string(bracket.first) + " on";
    for (const auto& [epoch, trials] : bracket.further) {
      text += ", " + std::to_string(trials) + " to " + std::to_string(epoch);
    }
  }
  return text;
}

}  // namespace lanista::cli
