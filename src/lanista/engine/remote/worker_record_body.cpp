// Records of spans, and of worker processes that started or ended.
#include "lanista/engine/core/record_bodies.h"
#include "lanista/ipc/host_name.h"
#include "lanista/search/study/record_table.h"
#include "lanista/search/study/timed_steps.h"

namespace lanista::engine {

namespace {

using nlohmann::json;
using namespace study::fields;

void device_name(FieldTable& t, const char* name, std::string& value) {
  t.optional(name, value);
  if (t.reads()) value = sanitize_host_name(std::move(value));
}

void table(FieldTable& t, study::Span& span) {
  t("trial", span.trial)("epoch", span.epoch)("worker", span.worker)("began", span.began)("ended", span.ended);
  if (t.has("lanes", span.lanes > 1)) t("lanes", span.lanes);
  if (t.has("width", span.width > 1)) t("width", span.width);
  if (t.has("costs", span.costs != study::SpanCosts())) {
    t.via("costs", span.costs, study::span_costs_json, study::read_span_costs);
  }
  device_name(t, "device", span.device);
  const auto timed_json = [](const auto& step) { return pipeline::timed_step_json(*step); };
  if (t.has("timed", span.timed != nullptr)) t.via("timed", span.timed, timed_json, study::read_timed);
}

/// A trial of a lost worker, with the seconds that it lost.
struct LostTrial {
  TrialId trial;
  std::optional<double> seconds = {};
};
void table(FieldTable& t, LostTrial& lost) { t("trial", lost.trial).optional("seconds", lost.seconds); }

void log_table(FieldTable& t, WorkerReport& report) {
  std::string event = report.has_started ? "came" : "went";
  t("worker", report.worker)("process", report.process)("event", event);
  if (t.reads()) report.has_started = event == "came";
  device_name(t, "host", report.host);
  if (report.has_started) return;
  if (event != "went") throw Malformed{"'" + event + "' is no event of a worker"};
  t("reason", report.reason)("seconds", report.seconds);
  std::vector<LostTrial> trials;
  for (const TrialId id : report.trials) {
    const auto cost = report.costs.find(id);
    const bool is_known = !report.host.empty() && cost != report.costs.end();
    trials.push_back({id, is_known ? std::optional(cost->second) : std::nullopt});
  }
  t.list("trials", trials, table);
  if (!t.reads()) return;
  for (const LostTrial& lost : trials) {
    report.trials.push_back(lost.trial);
    if (lost.seconds) report.costs[lost.trial] = *lost.seconds;
  }
}

}  // namespace

json span_body(const study::Span& span) { return write_table(span, table); }
Result<study::Span> read_span(const json& body) { return read_table<study::Span>("span", body, table); }
json worker_body(const WorkerReport& report, double unix_time) {
  json out = write_table(report, log_table);
  out["time"] = real_json(unix_time);
  return out;
}
Result<WorkerReport> read_worker(const json& body) { return read_table<WorkerReport>("worker", body, log_table); }

}  // namespace lanista::engine
