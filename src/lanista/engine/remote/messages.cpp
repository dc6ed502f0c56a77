#include "lanista/engine/remote/messages.h"

#include <array>
#include <limits>

#include "lanista/base/real_json.h"
#include "lanista/io/store/record_json.h"
#include "lanista/model/graph/text.h"
#include "lanista/search/study/record_fields.h"
#include "lanista/search/study/timed_steps.h"

namespace lanista::engine {
namespace {

using nlohmann::json;
using study::fields::array;
using study::fields::digest;
using study::fields::flag;
using study::fields::good;
using study::fields::integer;
using study::fields::Malformed;
using study::fields::member;
using study::fields::read_record;
using study::fields::real;
using study::fields::text;
using study::fields::trial;

std::string one_line_text(const json& message) { return message.dump(-1, ' ', false, json::error_handler_t::replace); }

std::uint64_t seed(const json& object, const char* name) {
  const json& value = member(object, name);
  if (!value.is_number_unsigned() && !(value.is_number_integer() && value >= 0)) {
    throw Malformed{"'" + std::string(name) + "' is " + value.dump() + "; it must be a whole number, at least 0"};
  }
  return value.get<std::uint64_t>();
}

Code code_of(const std::string& name) {
  for (int i = 0; i <= static_cast<int>(Code::kInternal); ++i) {
    if (code_name(static_cast<Code>(i)) == name) return static_cast<Code>(i);
  }
  throw Malformed{"'" + name + "' is no kind of error"};
}

// Requests.

json frozen_json(const FrozenPart& frozen) {
  json nodes = json::array();
  for (const graph::NodeId id : frozen.nodes) nodes.push_back(id.value);
  return {{"nodes", std::move(nodes)}, {"weights", frozen.weights}, {"epochs", frozen.epochs}};
}

FrozenPart read_frozen(const json& in) {
  FrozenPart frozen;
  for (const json& id : member(in, "nodes")) {
    if (!id.is_number_unsigned() || id.get<std::uint64_t>() > std::numeric_limits<std::uint32_t>::max()) {
      throw Malformed{"a frozen node is not a number"};
    }
    frozen.nodes.insert(graph::NodeId{id.get<std::uint32_t>()});
  }
  frozen.weights = text(in, "weights");
  frozen.epochs = integer(in, "epochs");
  return frozen;
}

json selection_json(const Job& job) {
  json keep = study::selection_rule_json(job.keep);
  keep["sample"] = space::sample_json(job.sample);
  return keep;
}

json fork_json(const ForkedRun& fork) {
  json measurements = json::array();
  for (const study::Measurement& each : fork.measurements) measurements.push_back(study::measurement_json(each));
  return {{"from", fork.from.value}, {"measurements", std::move(measurements)}};
}

ForkedRun read_fork(const json& in) {
  ForkedRun fork{trial(in, "from"), {}};
  for (const json& each : array(in, "measurements"))
    fork.measurements.push_back(good(study::measurement_from_json(each)));
  return fork;
}

json graph_json(const std::optional<graph::Graph>& model) {
  return model ? json(graph::to_text(*model)) : json("none");
}

std::optional<graph::Graph> read_graph(const json& in, const char* name) {
  if (text(in, name) == "none") return std::nullopt;
  return good(graph::parse(text(in, name)));
}

json to_json(const Job& job) {
  return {{"kind", "start"},
          {"trial", job.trial.value},
          {"model", graph::to_text(job.model)},
          {"recipe", study::recipe_json(job.recipe)},
          {"trial_seed", job.trial_seed},
          {"data_seed", job.data_seed},
          {"fold", job.fold ? json(*job.fold) : json("none")},
          {"device", job.device},
          {"logical_start", real_json(job.logical_start)},
          {"logical_epoch", real_json(job.logical_epoch)},
          {"priority", real_json(job.priority)},
          {"alone", job.alone},
          {"checkpoint", job.checkpoint},
          {"start", job.start ? study::start_json(*job.start) : json("random")},
          {"fork", job.fork ? fork_json(*job.fork) : json("none")},
          {"transfer", job.transfer ? zoo::transfer_json(*job.transfer) : json("none")},
          {"parent", graph_json(job.parent)},
          {"frozen", frozen_json(job.frozen)},
          {"keep", selection_json(job)}};
}

Job read_job(const json& in) {
  Job job;
  job.trial = trial(in, "trial");
  job.model = good(graph::parse(text(in, "model")));
  job.recipe = good(study::recipe_from_json(member(in, "recipe")));
  job.trial_seed = seed(in, "trial_seed");
  job.data_seed = seed(in, "data_seed");
  if (member(in, "fold") != "none") job.fold = integer(in, "fold");
  job.logical_start = real(in, "logical_start");
  job.logical_epoch = real(in, "logical_epoch");
  job.priority = real(in, "priority");
  job.alone = flag(in, "alone");
  job.checkpoint = text(in, "checkpoint");
  if (const json& start = member(in, "start"); start != "random") job.start = good(study::start_from_json(start));
  if (const json& fork = member(in, "fork"); fork != "none") job.fork = read_fork(fork);
  if (const json& plan = member(in, "transfer"); plan != "none") job.transfer = good(zoo::transfer_from_json(plan));
  job.parent = read_graph(in, "parent");
  job.frozen = read_frozen(member(in, "frozen"));
  job.keep = good(study::selection_rule_from_json(member(in, "keep")));
  job.sample = good(space::sample_from_json(member(member(in, "keep"), "sample")));
  job.device = text(in, "device");
  return job;
}

json to_json(const Allow& allow) { return {{"kind", "allow"}, {"trial", allow.trial.value}, {"epoch", allow.epoch}}; }
Allow read_allow(const json& in) { return {trial(in, "trial"), integer(in, "epoch")}; }

json to_json(const Finish& finish) {
  return {{"kind", "finish"},
          {"trial", finish.trial.value},
          {"keep_weights", finish.keep_weights},
          {"abandon", finish.abandon}};
}
json to_json(const PauseTrial& pause) { return {{"kind", "park"}, {"trial", pause.trial.value}}; }
json to_json(const PauseAll&) { return {{"kind", "pause_all"}}; }
json to_json(const UpdateGroups& arrange) {
  json allow = json::array();
  for (const Allow& each : arrange.allow) allow.push_back(to_json(each));
  return {{"kind", "arrange"}, {"groups", plan::regrouping_text(arrange.changes)}, {"allow", std::move(allow)}};
}
json to_json(const AcceptHelpers& widen) {
  return {{"kind", "widen"}, {"trial", widen.trial.value}, {"session", widen.session}};
}
json to_json(const HelpTrial& help) {
  return {
      {"kind", "help"}, {"session", help.session}, {"job", help.session.empty() ? json("none") : to_json(help.job)}};
}
json to_json(const Command& command) {
  return std::visit([](const auto& each) { return to_json(each); }, command);
}

ExecutorRequest read_executor_request(const json& in) {
  const std::string kind = text(in, "kind");
  if (kind == "start") return read_job(in);
  if (kind == "allow") return Command(read_allow(in));
  if (kind == "finish") return Command(Finish{trial(in, "trial"), flag(in, "keep_weights"), flag(in, "abandon")});
  if (kind == "park") return Command(PauseTrial{trial(in, "trial")});
  if (kind == "pause_all") return Command(PauseAll{});
  if (kind == "widen") return Command(AcceptHelpers{trial(in, "trial"), text(in, "session")});
  if (kind == "help") {
    const std::string session = text(in, "session");
    if (!session.empty()) return Command(HelpTrial{read_job(member(in, "job")), session});
    if (text(in, "job") != "none") throw Malformed{"help for a job without a session"};
    return Command(HelpTrial{});
  }
  if (kind != "arrange") throw Malformed{"'" + kind + "' is no order"};
  UpdateGroups arrange{good(plan::regrouping_from_text(text(in, "groups"))), {}};
  for (const json& allow : array(in, "allow")) arrange.allow.push_back(read_allow(allow));
  return Command(std::move(arrange));
}

// Reports.

json to_json(const EpochReport& epoch) {
  return {{"kind", "epoch"}, {"measurement", study::measurement_json(epoch.measurement)}};
}
json to_json(const FailureReport& failure) {
  return {{"kind", "failure"}, {"trial", failure.trial.value}, {"epoch", failure.epoch}, {"reason", failure.reason}};
}
json to_json(const CheckpointReport& saved) {
  return {{"kind", "checkpoint"},
          {"trial", saved.trial.value},
          {"epoch", saved.epoch},
          {"step", saved.step},
          {"address", saved.address}};
}
json to_json(const FinishedReport& finished) {
  return {{"kind", "finished"},
          {"trial", finished.trial.value},
          {"state_hash", finished.state_hash.hex()},
          {"weights", finished.weights}};
}
json to_json(const TrialPausedReport& paused) {
  return {{"kind", "parked"},    {"trial", paused.trial.value},           {"epoch", paused.epoch},
          {"step", paused.step}, {"state_hash", paused.state_hash.hex()}, {"address", paused.address}};
}
json to_json(const AllPausedReport&) { return {{"kind", "paused"}}; }
json to_json(const SpanReport& span) {
  return {{"kind", "span"},
          {"trial", span.trial.value},
          {"epoch", span.epoch},
          {"worker", span.worker},
          {"began", real_json(span.began)},
          {"ended", real_json(span.ended)},
          {"lanes", span.lanes},
          {"width", span.width},
          {"costs", study::span_costs_json(span.costs)},
          {"device", span.device},
          {"timed", span.timed != nullptr ? pipeline::timed_step_json(*span.timed) : json()}};
}
json to_json(const ExecutorErrorReport& broken) {
  return {{"kind", "broken"},
          {"code", code_name(broken.error.code)},
          {"message", broken.error.message},
          {"where", broken.error.where}};
}
json to_json(const WorkerReport& report) {
  json trials = json::array();
  for (const TrialId id : report.trials) trials.push_back({{"trial", id.value}});
  json costs = json::array();
  for (const auto& [id, seconds] : report.costs)
    costs.push_back({{"trial", id.value}, {"seconds", real_json(seconds)}});
  return {{"kind", "worker"},
          {"worker", report.worker},
          {"process", report.process},
          {"came", report.has_started},
          {"reason", report.reason},
          {"trials", std::move(trials)},
          {"seconds", real_json(report.seconds)},
          {"host", report.host},
          {"costs", std::move(costs)}};
}

WorkerReport read_worker_report(const json& in) {
  WorkerReport out{integer(in, "worker"), integer(in, "process"), flag(in, "came"), text(in, "reason"), {},
                   real(in, "seconds"),   text(in, "host")};
  for (const json& each : array(in, "trials")) out.trials.push_back(trial(each, "trial"));
  for (const json& each : array(in, "costs")) out.costs[trial(each, "trial")] = real(each, "seconds");
  return out;
}

Report read_report(const json& in) {
  const std::string kind = text(in, "kind");
  if (kind == "epoch") return EpochReport{good(study::measurement_from_json(member(in, "measurement")))};
  if (kind == "failure") return FailureReport{trial(in, "trial"), integer(in, "epoch"), text(in, "reason")};
  if (kind == "checkpoint") {
    return CheckpointReport{trial(in, "trial"), integer(in, "epoch"), integer(in, "step"), text(in, "address")};
  }
  if (kind == "finished") return FinishedReport{trial(in, "trial"), digest(in, "state_hash"), text(in, "weights")};
  if (kind == "parked") {
    return TrialPausedReport{trial(in, "trial"), integer(in, "epoch"), integer(in, "step"), digest(in, "state_hash"),
                             text(in, "address")};
  }
  if (kind == "paused") return AllPausedReport{};
  if (kind == "span") {
    return SpanReport{trial(in, "trial"),    integer(in, "epoch"),
                      integer(in, "worker"), real(in, "began"),
                      real(in, "ended"),     integer(in, "lanes"),
                      integer(in, "width"),  study::read_span_costs(member(in, "costs")),
                      text(in, "device"),    member(in, "timed").is_null() ? nullptr : study::read_timed(in)};
  }
  if (kind == "broken")
    return ExecutorErrorReport{Error{code_of(text(in, "code")), text(in, "message"), text(in, "where")}};
  if (kind == "worker") return read_worker_report(in);
  throw Malformed{"'" + kind + "' is no report"};
}

}  // namespace

std::string encode(const ExecutorRequest& order) {
  return one_line_text(std::visit([](const auto& each) { return to_json(each); }, order));
}

std::string encode(const Report& report) {
  return one_line_text(std::visit([](const auto& each) { return to_json(each); }, report));
}

Result<ExecutorRequest> decode_executor_request(std::string_view text) {
  LANISTA_ASSIGN(const json message, store::parse_record_json(text));
  return read_record<ExecutorRequest>("order", [&] { return read_executor_request(message); });
}

Result<Report> decode_report(std::string_view text) {
  LANISTA_ASSIGN(const json message, store::parse_record_json(text));
  return read_record<Report>("report", [&] { return read_report(message); });
}

}  // namespace lanista::engine
