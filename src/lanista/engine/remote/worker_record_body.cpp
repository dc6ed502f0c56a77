// Records of spans, and of worker processes that started or ended.
#include "lanista/base/json_object.h"
#include "lanista/base/real_json.h"
#include "lanista/engine/core/record_bodies.h"
#include "lanista/ipc/host_name.h"
#include "lanista/search/study/record_fields.h"
#include "lanista/search/study/timed_steps.h"

namespace lanista::engine {

namespace {

using nlohmann::json;
using namespace study::fields;

}  // namespace

json span_body(const study::Span& span) {
  json body = json_object("trial", span.trial.value,  //
                          "epoch", span.epoch,        //
                          "worker", span.worker,      //
                          "began", real_json(span.began), "ended", real_json(span.ended));
  if (span.lanes > 1) body["lanes"] = span.lanes;
  if (span.width > 1) body["width"] = span.width;
  if (!span.device.empty()) body["device"] = span.device;
  if (span.costs != study::SpanCosts()) body["costs"] = study::span_costs_json(span.costs);
  if (span.timed != nullptr) body["timed"] = pipeline::timed_step_json(*span.timed);
  return body;
}

Result<study::Span> read_span(const json& body) {
  return read_record<study::Span>("span", [&] {
    return study::Span{study::fields::trial(body, "trial"),
                       integer(body, "epoch"),
                       integer(body, "worker"),
                       real(body, "began"),
                       real(body, "ended"),
                       body.contains("lanes") ? integer(body, "lanes") : 1,
                       body.contains("width") ? integer(body, "width") : 1,
                       body.contains("costs") ? study::read_span_costs(body.at("costs")) : study::SpanCosts(),
                       0,
                       body.contains("device") ? sanitize_host_name(text(body, "device")) : "",
                       study::read_timed(body)};
  });
}

json worker_body(const WorkerReport& report, double unix_time) {
  json out{{"worker", report.worker},
           {"process", report.process},
           {"event", report.has_started ? "came" : "went"},
           {"time", real_json(unix_time)}};
  if (!report.host.empty()) out["host"] = report.host;
  if (report.has_started) return out;
  out["reason"] = report.reason;
  out["seconds"] = real_json(report.seconds);
  out["trials"] = json::array();
  for (const TrialId id : report.trials) {
    out["trials"].push_back({{"trial", id.value}});
    const auto cost = report.costs.find(id);
    if (!report.host.empty() && cost != report.costs.end()) out["trials"].back()["seconds"] = real_json(cost->second);
  }
  return out;
}

Result<WorkerReport> read_worker(const json& body) {
  return read_record<WorkerReport>("worker", [&] {
    WorkerReport out{integer(body, "worker"), integer(body, "process"), text(body, "event") == "came", {}, {}, 0};
    if (body.contains("host")) out.host = sanitize_host_name(text(body, "host"));
    if (out.has_started) return out;
    if (text(body, "event") != "went") throw Malformed{"'" + text(body, "event") + "' is no event of a worker"};
    out.reason = text(body, "reason");
    out.seconds = real(body, "seconds");
    for (const json& each : array(body, "trials")) {
      out.trials.push_back(study::fields::trial(each, "trial"));
      if (each.contains("seconds")) out.costs[out.trials.back()] = real(each, "seconds");
    }
    return out;
  });
}

}  // namespace lanista::engine
