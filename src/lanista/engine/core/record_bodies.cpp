#include "lanista/engine/core/record_bodies.h"

#include <algorithm>

#include "lanista/base/enum_table.h"
#include "lanista/base/json_object.h"
#include "lanista/base/real_json.h"
#include "lanista/engine/core/study_devices.h"
#include "lanista/io/store/cost_rows.h"
#include "lanista/io/studyfile/study_file.h"
#include "lanista/ipc/host_name.h"
#include "lanista/model/graph/text.h"
#include "lanista/search/study/record_table.h"

namespace lanista::engine {
namespace {

using nlohmann::json;
using namespace study::fields;

constexpr std::size_t kMaxReasonBytes = 2000;

/// The beginning of a long text, cut between characters.
std::string shorten(std::string text) {
  if (text.size() <= kMaxReasonBytes) return text;
  std::size_t end = kMaxReasonBytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return text.substr(0, end) + "…";
}

/// Number of equal elements at the beginning of two lists.
template <class T>
std::size_t num_common_prefix(const std::vector<T>& a, const std::vector<T>& b) {
  return static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
}

/// A proposal without the steps that it shares with its parent. Different keys prevent that it is read as a whole one.
json child_json(const study::Proposal& proposal, const study::Proposal& parent) {
  const std::size_t steps = proposal.base == parent.base ? num_common_prefix(proposal.steps, parent.steps) : 0;
  const std::size_t edits = proposal.base == parent.base ? num_common_prefix(proposal.edits, parent.edits) : 0;
  if (steps == 0 && edits == 0) return study::proposal_json(proposal);
  study::Proposal rest = proposal;
  rest.steps.erase(rest.steps.begin(), rest.steps.begin() + static_cast<std::ptrdiff_t>(steps));
  rest.edits.erase(rest.edits.begin(), rest.edits.begin() + static_cast<std::ptrdiff_t>(edits));
  json out = study::proposal_json(rest);
  out["of_parent"] = {{"steps", steps}, {"edits", edits}};
  out["further_steps"] = std::move(out["steps"]);
  out["further_edits"] = std::move(out["edits"]);
  out.erase("steps");
  out.erase("edits");
  return out;
}

std::size_t count(const json& in, const char* key) {
  std::int64_t number = 0;
  FieldTable(in).at_least(0, key, number);
  return static_cast<std::size_t>(number);
}

bool strategy_forks(const study::StudyConfig& config) {
  const auto all = search::builtin_strategies();
  return std::ranges::any_of(all, [&](const auto& each) { return each.forks && each.name == config.strategy.name; });
}

void table(FieldTable& t, study::StartFile& file) {
  t("name", file.name)("address", file.address)("graph", file.graph);
  t.list(
      "labels", file.labels, [](const std::string& label) { return json(label); },
      [](const json& label) {
        return label.is_string() ? label.get<std::string>() : throw Malformed{"a label of 'start_file' is no text"};
      });
}

void fork(FieldTable& t, std::optional<study::Fork>& value) {
  t.via("fork", value, study::fork_json, study::fork_from_json);
}

void table(FieldTable& t, search::Member& member) {
  if (t.has("new", std::holds_alternative<search::NewTrial>(member))) {
    if (t.reads()) member = search::NewTrial();
    t.via("new", std::get<search::NewTrial>(member).proposal, study::proposal_json, study::proposal_from_json);
  } else if (t.has("resume", std::holds_alternative<search::ResumeTrial>(member))) {
    if (t.reads()) member = search::ResumeTrial();
    auto& resume = std::get<search::ResumeTrial>(member);
    t("resume", resume.trial)("budget", resume.budget);
    fork(t, resume.fork);
  } else {
    if (t.reads()) member = search::StopTrial();
    t("stop", std::get<search::StopTrial>(member).trial);
  }
}

void table(FieldTable& t, search::TrialGroup& group) {
  t("id", group.id)("barrier", group.barrier)("priority", group.priority).list("members", group.members, table);
  if (!t.has("costs", !group.costs.empty())) return;
  t.list("costs", group.costs, real_json, [](const json& cost) { return real({{"cost", cost}}, "cost"); });
  t.check(group.costs.size() == group.members.size(), "'costs' are not those of its members");
}

void table(FieldTable& t, PausedRecord& paused) {
  t("trial", paused.event.trial)("epoch", paused.event.epoch)("logical_time", paused.logical_time);
  t("address", paused.address).optional("weights_hash", paused.weights_hash);
}

void table(FieldTable& t, ResumedRecord& resumed) {
  t("trial", resumed.event.trial)("epoch", resumed.event.epoch)("budget", resumed.event.budget);
  fork(t, resumed.event.fork);
  t("logical_time", resumed.logical_time);
}

void table(FieldTable& t, CheckpointRecord& checkpoint) {
  t("trial", checkpoint.trial)("epoch", checkpoint.epoch)("step", checkpoint.step)("address", checkpoint.address);
}

void table(FieldTable& t, ControlRecord& control) {
  t("request", control.request);
  if (t.has("time", true)) t("time", control.time);
  t.optional("trial", control.trial).optional("trials", control.trials).optional("steps", control.steps);
  if (t.reads()) control.has_lost_minutes = t.is_null("minutes");
  if (!control.has_lost_minutes) t.optional("minutes", control.minutes);
  t.optional("by", control.by).optional("reason", control.reason);
}

auto read_cost_rows(const json& body) { return store::costs_of_log({{store::RecordType::kCostRows, body}}); }

/// Returns the error of a reader, if it has one.
template <auto kRead>
Result<void> check_with(const json& body) {
  auto read = kRead(body);
  if (!read) return std::move(read).error();
  return {};
}

}  // namespace

json header_body(const study::StudyConfig& config, const std::string& config_text, const data::DataSpec& data,
                 const mutate::ModelSpace& models, const std::string& frozen,
                 const std::vector<study::Baseline>& baselines, const std::optional<study::Earlier>& earlier,
                 const std::optional<study::StartFile>& start_file, const std::optional<study::ZooSnapshot>& zoo) {
  json bases = json::array();
  for (const mutate::BaseModel& base : models.bases()) {
    bases.push_back({{"name", base.name}, {"graph", graph::to_text(base.graph)}});
  }
  // "config" identifies the study, so settings that may differ between equal studies are neutral there. "text" has
  // them.
  study::StudyConfig identity = config;
  identity.run.workers = 0;
  identity.run.lanes = 0;
  identity.run.width = 1;
  identity.run.pipeline = 1;
  identity.run.memory_gib = 0;
  identity.run.isolation = study::kThreads;
  identity.run.profiles = study::kAutoProfiles;
  identity.run.lease_seconds = study::RunConfig().lease_seconds;
  identity.cluster = {};
  const bool has_plans = config.strategy.slots > 1;
  const std::int64_t schema = config.data.rules > study::kFirstRules ? store::kRulesSchema
                              : !config.implied.empty()              ? store::kImpliedSchema
                              : strategy_forks(config)               ? store::kForkSchema
                              : has_plans                            ? store::kPlansSchema
                              : earlier                              ? store::kEarlierSchema
                                                                     : store::kPlainSchema;
  json body{{"schema", schema},    {"version", LANISTA_VERSION},    {"config", studyfile::write_study(identity)},
            {"text", config_text}, {"data", data::spec_json(data)}, {"models", std::move(bases)}};
  if (!frozen.empty()) body["frozen"] = frozen;
  if (!baselines.empty()) body["baselines"] = study::baselines_json(baselines);
  if (earlier) body["earlier"] = study::earlier_study_json(*earlier);
  if (start_file) body["start_file"] = write_table(*start_file, table);
  if (zoo) body["zoo"] = study::zoo_snapshot_json(*zoo);
  return body;
}

Result<HeaderRecord> read_header(const json& body) {
  return read_record<HeaderRecord>("header", [&] {
    HeaderRecord header;
    if (body.contains("schema")) header.schema = integer(body, "schema");
    header.text = text(body, "text");
    auto config = studyfile::read_stored_study(header.text, "config.resolved.yaml");
    if (!config) throw Malformed{"the stored configuration cannot be read: " + config.error().message};
    header.config = *std::move(config);
    header.data = member(body, "data");
    // An old study without this setting trains on raw targets. resolve_from_data has set it in all others.
    const bool numbers = header.data.value("classes", std::int64_t{0}) == 0 && !header.data.value("multilabel", false);
    if (numbers && header.config.data.targets == "auto") header.config.data.targets = "raw";
    header.models = member(body, "models");
    if (body.contains("frozen")) header.frozen = text(body, "frozen");
    if (body.contains("start_file")) {
      header.start_file = read_part<study::StartFile>(body.at("start_file"), table);
    }
    if (body.contains("zoo")) header.zoo = study::read_zoo_snapshot(body.at("zoo"));
    if (body.contains("earlier")) header.earlier = study::read_earlier_study(body.at("earlier"));
    if (body.contains("baselines")) header.baselines = study::read_baselines(array(body, "baselines"));
    return header;
  });
}

json proposed_body(const study::TrialView& trial, double logical_epoch, const Digest& key,
                   const study::Proposal* parent, const study::ZooModel* zoo_model, std::size_t waiting_index) {
  json body = json_object(
      "trial", trial.id.value,  //
      "proposal", parent == nullptr ? study::proposal_json(trial.proposal) : child_json(trial.proposal, *parent),
      "logical_start", real_json(trial.logical_start),  //
      "logical_epoch", real_json(logical_epoch),        //
      "parameters", trial.parameters,                   //
      "key", key.hex());
  if (zoo_model != nullptr) body["zoo_model"] = study::zoo_model_json(*zoo_model);
  if (waiting_index > 0) body["place"] = waiting_index;
  if (!trial.device.empty()) body["device"] = trial.device;
  return body;
}

Result<ProposedRecord> read_proposed(const json& body) {
  return read_record<ProposedRecord>("proposed record", [&] {
    ProposedRecord record;
    record.trial = study::fields::trial(body, "trial");
    const json& report = member(body, "proposal");
    if (report.contains("of_parent")) {
      json rest = report;
      rest["steps"] = array(report, "further_steps");
      rest["edits"] = array(report, "further_edits");
      record.proposal = good(study::proposal_from_json(rest));
      record.num_shared_steps = count(report["of_parent"], "steps");
      record.num_shared_edits = count(report["of_parent"], "edits");
      if (!record.proposal.parent) throw Malformed{"'of_parent' without a 'parent'"};
    } else {
      record.proposal = good(study::proposal_from_json(report));
    }
    record.logical_start = real(body, "logical_start");
    record.logical_epoch = real(body, "logical_epoch");
    record.parameters = integer(body, "parameters");
    if (body.contains("zoo_model")) record.zoo_model = study::read_zoo_model(body.at("zoo_model"));
    if (body.contains("place")) record.waiting_index = count(body, "place");
    if (body.contains("device")) record.device = sanitize_host_name(text(body, "device"));
    return record;
  });
}

Result<void> add_shared_steps(ProposedRecord& record, const study::Proposal& parent) {
  if (record.num_shared_steps > parent.steps.size() || record.num_shared_edits > parent.edits.size()) {
    return Error{Code::kDataLoss, "proposed record: its parent has fewer steps or edits than it shares with it", ""};
  }
  const auto put = [](auto& into, const auto& from, std::size_t number) {
    into.insert(into.begin(), from.begin(), from.begin() + static_cast<std::ptrdiff_t>(number));
  };
  put(record.proposal.steps, parent.steps, record.num_shared_steps);
  put(record.proposal.edits, parent.edits, record.num_shared_edits);
  record.num_shared_steps = record.num_shared_edits = 0;
  return {};
}

json verdict_body(TrialId trial, std::int64_t epoch, study::Verdict verdict) {
  return {{"trial", trial.value}, {"epoch", epoch}, {"verdict", study::verdict_name(verdict)}};
}

Result<VerdictRecord> read_verdict(const json& body) {
  return read_record<VerdictRecord>("verdict", [&] {
    VerdictRecord verdict{study::fields::trial(body, "trial"), study::Verdict::kStop};
    if (body.contains("verdict")) verdict.verdict = good(study::verdict_from_name(text(body, "verdict")));
    return verdict;
  });
}

json group_body(const search::TrialGroup& group) { return write_table(group, table); }
Result<search::TrialGroup> read_group(const json& body) { return read_table<search::TrialGroup>("group", body, table); }
json paused_body(const PausedRecord& paused) { return write_table(paused, table); }
Result<PausedRecord> read_paused(const json& body) { return read_table<PausedRecord>("paused record", body, table); }
json resumed_body(const ResumedRecord& resumed) { return write_table(resumed, table); }
Result<ResumedRecord> read_resumed(const json& body) {
  return read_table<ResumedRecord>("resumed record", body, table);
}

json outcome_body(TrialId trial, const study::Outcome& outcome, double logical_time) {
  json body = study::outcome_json(outcome);
  if (body.contains("reason")) body["reason"] = shorten(outcome.reason);
  body["trial"] = trial.value;
  body["logical_time"] = real_json(logical_time);
  return body;
}

Result<OutcomeRecord> read_outcome(const json& body) {
  return read_record<OutcomeRecord>("outcome record", [&] {
    return OutcomeRecord{study::fields::trial(body, "trial"), good(study::outcome_from_json(body)),
                         real(body, "logical_time")};
  });
}

json checkpoint_body(const CheckpointRecord& checkpoint) { return write_table(checkpoint, table); }

Result<CheckpointRecord> read_checkpoint(const json& body) {
  return read_table<CheckpointRecord>("checkpoint record", body, table);
}

json attempt_begin_body(double unix_time, std::int64_t pid, const std::string& host) {
  return {{"event", "begin"}, {"time", real_json(unix_time)}, {"pid", pid}, {"host", host}};
}

json attempt_worked_body(const std::string& event, double seconds) {
  return {{"event", event}, {"seconds", real_json(seconds)}};
}

Result<AttemptRecord> read_attempt(const json& body) {
  return read_record<AttemptRecord>("attempt record", [&] {
    AttemptRecord attempt;
    if (text(body, "event") == "begin") attempt.began = real(body, "time");
    if (body.contains("seconds")) attempt.seconds = real(body, "seconds");
    return attempt;
  });
}

json control_body(const ControlRecord& control) {
  json body = write_table(control, table);
  if (!control.reason.empty()) body["reason"] = shorten(control.reason);
  return body;
}

Result<ControlRecord> read_control(const json& body) {
  return read_table<ControlRecord>("control record", body, table);
}

json plan_body(const plan::Regrouping& changes) { return json_object("changes", plan::regrouping_text(changes)); }

json plan_body(const plan::GroupPlan& whole) { return json_object("groups", plan::plan_text(whole)); }

Result<PlanRecord> read_plan(const json& body) {
  return read_record<PlanRecord>("plan", [&] {
    if (body.contains("changes")) return PlanRecord{good(plan::regrouping_from_text(text(body, "changes"))), false};
    return PlanRecord{plan::regrouping_of(good(plan::plan_from_text(text(body, "groups")))), true};
  });
}

json study_end_body(const std::string& reason, std::optional<TrialId> winner, const std::map<std::string, double>& test,
                    const std::optional<study::Ensemble>& ensemble) {
  json body{
      {"reason", shorten(reason)}, {"winner", winner ? json(winner->value) : json()}, {"test", metrics_json(test)}};
  if (ensemble) body["ensemble"] = study::ensemble_json(*ensemble);
  return body;
}

Result<StudyEndRecord> read_study_end(const json& body) {
  return read_record<StudyEndRecord>("study end", [&] {
    StudyEndRecord end;
    end.reason = text(body, "reason");
    if (!member(body, "winner").is_null()) end.winner = study::fields::trial(body, "winner");
    end.test = metrics(body, "test", &end.nulls);
    if (body.contains("ensemble")) end.ensemble = study::read_ensemble(body["ensemble"]);
    return end;
  });
}

Result<void> check_body(store::RecordType type, const json& body) {
  using store::RecordType;
  using Check = Result<void> (*)(const json&);
  static constexpr EnumTable<RecordType, Check, 17> kChecks{
      {{RecordType::kHeader, check_with<read_header>},
       {RecordType::kProposed, check_with<read_proposed>},
       {RecordType::kMeasurement, check_with<study::measurement_from_json>},
       {RecordType::kVerdict, check_with<read_verdict>},
       {RecordType::kOutcome, check_with<read_outcome>},
       {RecordType::kCheckpoint, check_with<read_checkpoint>},
       {RecordType::kAttempt, check_with<read_attempt>},
       {RecordType::kControl, check_with<read_control>},
       {RecordType::kStudyEnd, check_with<read_study_end>},
       {RecordType::kSpan, check_with<read_span>},
       {RecordType::kGroup, check_with<read_group>},
       {RecordType::kPaused, check_with<read_paused>},
       {RecordType::kResumed, check_with<read_resumed>},
       {RecordType::kCostRows, check_with<read_cost_rows>},
       {RecordType::kPlan, check_with<read_plan>},
       {RecordType::kWorker, check_with<read_worker>},
       {RecordType::kNumerics, check_with<decode_device_table>}}};
  const auto check = std::ranges::find(kChecks, type, &std::pair<RecordType, Check>::first);
  if (check != kChecks.end()) return check->second(body);
  return Error{Code::kInternal, "a record of the unknown type " + std::to_string(static_cast<int>(type)), "log"};
}

}  // namespace lanista::engine
