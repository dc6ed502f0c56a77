#include "lanista/engine/remote/messages.h"

#include <limits>
#include <utility>

#include "lanista/io/store/record_json.h"
#include "lanista/model/graph/text.h"
#include "lanista/search/study/record_table.h"
#include "lanista/search/study/timed_steps.h"

namespace lanista::engine {
namespace {

using nlohmann::json;
using namespace study::fields;

std::string one_line_text(const json& message) { return message.dump(-1, ' ', false, json::error_handler_t::replace); }

Code code_of(const std::string& name) {
  for (int i = 0; i <= static_cast<int>(Code::kInternal); ++i) {
    if (code_name(static_cast<Code>(i)) == name) return static_cast<Code>(i);
  }
  throw Malformed{"'" + name + "' is no kind of error"};
}

// Requests.

json node_json(graph::NodeId node) { return node.value; }
graph::NodeId read_node(const json& id) {
  if (!id.is_number_unsigned() || id.get<std::uint64_t>() > std::numeric_limits<std::uint32_t>::max()) {
    throw Malformed{"a frozen node is not a number"};
  }
  return graph::NodeId{id.get<std::uint32_t>()};
}

void table(FieldTable& t, FrozenPart& frozen) {
  std::vector<graph::NodeId> nodes(frozen.nodes.begin(), frozen.nodes.end());
  t.list("nodes", nodes, node_json, read_node)("weights", frozen.weights)("epochs", frozen.epochs);
  if (t.reads()) frozen.nodes.insert(nodes.begin(), nodes.end());
}

void table(FieldTable& t, ForkedRun& fork) {
  t("from", fork.from).list("measurements", fork.measurements, study::measurement_json, study::measurement_from_json);
}

void seed(FieldTable& t, const char* name, std::uint64_t& value) {
  const auto read = [&](const json& in) {
    if (in.is_number_unsigned() || (in.is_number_integer() && in >= 0)) return in.get<std::uint64_t>();
    throw Malformed{"'" + std::string(name) + "' is " + in.dump() + "; it must be a whole number, at least 0"};
  };
  t.via(
      name, value, [](std::uint64_t number) { return json(number); }, read);
}

void table(FieldTable& t, Job& job) {
  std::string model = t.reads() ? "" : graph::to_text(job.model);
  std::string parent = job.parent ? graph::to_text(*job.parent) : "none";
  t("trial", job.trial)("model", model);
  if (t.reads()) job.model = good(graph::parse(model));
  t.via("recipe", job.recipe, study::recipe_json, study::recipe_from_json);
  seed(t, "trial_seed", job.trial_seed);
  seed(t, "data_seed", job.data_seed);
  t.or_text("none", "fold", job.fold)("logical_start", job.logical_start)("logical_epoch", job.logical_epoch);
  t("priority", job.priority)("alone", job.alone)("checkpoint", job.checkpoint);
  t.or_text("random", "start", job.start, study::start_json, study::start_from_json)
      .or_text("none", "fork", job.fork, table);
  t.or_text("none", "transfer", job.transfer, zoo::transfer_json, zoo::transfer_from_json)("parent", parent);
  if (t.reads() && parent != "none") job.parent = good(graph::parse(parent));
  t.via("frozen", job.frozen, table);
  const auto keep_json = [&](const study::SelectionRule& rule) {
    json keep = study::selection_rule_json(rule);
    keep["sample"] = space::sample_json(job.sample);
    return keep;
  };
  const auto read_keep = [&](const json& in) {
    study::SelectionRule rule = good(study::selection_rule_from_json(in));
    job.sample = good(space::sample_from_json(member(in, "sample")));
    return rule;
  };
  t.via("keep", job.keep, keep_json, read_keep)("device", job.device);
}

json job_json(const Job& job) {
  json out = write_table(job, table);
  out["kind"] = "start";
  return out;
}

void table(FieldTable& t, Allow& allow) { t("trial", allow.trial)("epoch", allow.epoch); }
void table(FieldTable& t, Finish& finish) {
  t("trial", finish.trial)("keep_weights", finish.keep_weights)("abandon", finish.abandon);
}
void table(FieldTable& t, PauseTrial& pause) { t("trial", pause.trial); }
void table(FieldTable&, PauseAll&) {}
void table(FieldTable& t, UpdateGroups& arrange) {
  std::string groups = t.reads() ? "" : plan::regrouping_text(arrange.changes);
  t("groups", groups);
  if (t.reads()) arrange.changes = good(plan::regrouping_from_text(groups));
  t.list("allow", arrange.allow, table);
}
void table(FieldTable& t, AcceptHelpers& widen) { t("trial", widen.trial)("session", widen.session); }
void table(FieldTable& t, HelpTrial& help) {
  t("session", help.session);
  if (!help.session.empty()) {
    t.via("job", help.job, job_json, [](const json& in) { return read_part<Job>(in, table); });
    return;
  }
  std::string none = "none";
  t("job", none).check(none == "none", "help for a job without a session");
}

// Reports.

void table(FieldTable& t, EpochReport& epoch) {
  t.via("measurement", epoch.measurement, study::measurement_json, study::measurement_from_json);
}
void table(FieldTable& t, FailureReport& failure) {
  t("trial", failure.trial)("epoch", failure.epoch)("reason", failure.reason);
}
void table(FieldTable& t, CheckpointReport& saved) {
  t("trial", saved.trial)("epoch", saved.epoch)("step", saved.step)("address", saved.address);
}
void table(FieldTable& t, FinishedReport& finished) {
  t("trial", finished.trial)("state_hash", finished.state_hash)("weights", finished.weights);
}
void table(FieldTable& t, TrialPausedReport& paused) {
  t("trial", paused.trial)("epoch", paused.epoch)("step", paused.step);
  t("state_hash", paused.state_hash)("address", paused.address);
}
void table(FieldTable&, AllPausedReport&) {}
void table(FieldTable& t, SpanReport& span) {
  t("trial", span.trial)("epoch", span.epoch)("worker", span.worker)("began", span.began)("ended", span.ended);
  t("lanes", span.lanes)("width", span.width).via("costs", span.costs, study::span_costs_json, study::read_span_costs);
  t("device", span.device);
  t.via(
      "timed", span.timed, [](const auto& step) { return step ? pipeline::timed_step_json(*step) : json(); },
      [](const json& in) { return in.is_null() ? nullptr : study::read_timed(in); });
}
void table(FieldTable& t, ExecutorErrorReport& broken) {
  std::string code(code_name(broken.error.code));
  t("code", code);
  if (t.reads()) broken.error.code = code_of(code);
  t("message", broken.error.message)("where", broken.error.where);
}
void table(FieldTable& t, TrialId& trial) { t("trial", trial); }
void table(FieldTable& t, std::pair<TrialId, double>& cost) { t("trial", cost.first)("seconds", cost.second); }
void table(FieldTable& t, WorkerReport& report) {
  std::vector<std::pair<TrialId, double>> costs(report.costs.begin(), report.costs.end());
  t("worker", report.worker)("process", report.process)("came", report.has_started)("reason", report.reason);
  t("seconds", report.seconds)("host", report.host).list("trials", report.trials, table).list("costs", costs, table);
  if (t.reads()) report.costs = {costs.begin(), costs.end()};
}

/// The value of key "kind" of each message, in the order of the variants.
constexpr const char* kCommands[] = {"allow", "finish", "park", "pause_all", "arrange", "widen", "help"};
constexpr const char* kReports[] = {"epoch",  "failure", "checkpoint", "finished", "parked",
                                    "paused", "span",    "broken",     "worker"};

template <class... T>
json variant_json(const std::variant<T...>& message, const char* const* kinds) {
  json out = std::visit([](const auto& each) { return write_table(each, table); }, message);
  out["kind"] = kinds[message.index()];
  return out;
}

/// Reads the alternative `I` or a later one of the variant V by its kind. `what` names V in errors.
template <class V, std::size_t I = 0>
V read_variant(const json& in, const char* const* kinds, const char* what) {
  const std::string kind = text(in, "kind");
  if constexpr (I == std::variant_size_v<V>) {
    throw Malformed{"'" + kind + "' is no " + what};
  } else {
    if (kind == kinds[I]) return read_part<std::variant_alternative_t<I, V>>(in, table);
    return read_variant<V, I + 1>(in, kinds, what);
  }
}

}  // namespace

std::string encode(const ExecutorRequest& order) {
  return one_line_text(std::holds_alternative<Job>(order) ? job_json(std::get<Job>(order))
                                                          : variant_json(std::get<Command>(order), kCommands));
}

std::string encode(const Report& report) { return one_line_text(variant_json(report, kReports)); }

Result<ExecutorRequest> decode_executor_request(std::string_view text) {
  LANISTA_ASSIGN(const json message, store::parse_record_json(text));
  return read_record<ExecutorRequest>("order", [&]() -> ExecutorRequest {
    if (study::fields::text(message, "kind") == "start") return read_part<Job>(message, table);
    return read_variant<Command>(message, kCommands, "order");
  });
}

Result<Report> decode_report(std::string_view text) {
  LANISTA_ASSIGN(const json message, store::parse_record_json(text));
  return read_record<Report>("report", [&] { return read_variant<Report>(message, kReports, "report"); });
}

}  // namespace lanista::engine
