#include "lanista/engine/records.h"

#include "lanista/base/real_json.h"
#include "lanista/engine/study_file.h"
#include "lanista/graph/text.h"
#include "lanista/store/cost_rows.h"
#include "lanista/study/record_fields.h"

namespace lanista::engine {
namespace {

using nlohmann::json;
using namespace study::fields;

constexpr std::size_t kLongestReason = 2000;

/// The beginning of a long text, not in the middle of a character.
std::string cut(std::string text) {
  if (text.size() <= kLongestReason) return text;
  std::size_t end = kLongestReason;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return text.substr(0, end) + "…";
}

template <class T>
Result<void> nothing_of(Result<T> read) {
  if (!read) return std::move(read).error();
  return {};
}

}  // namespace

json header_body(const study::StudyConfig& config, const std::string& config_text, const data::DataSpec& data,
                 const mutate::ModelSpace& models) {
  json bases = json::array();
  for (const mutate::BaseModel& base : models.bases()) {
    bases.push_back({{"name", base.name}, {"graph", graph::to_text(base.graph)}});
  }
  // "config" identifies the study, so what may differ between equal studies is neutral there; "text" is what was said.
  study::StudyConfig identity = config;
  identity.run.workers = 0;
  identity.run.lanes = 0;
  identity.run.memory_gib = 0;
  return {{"schema", store::kSchemaVersion}, {"version", LANISTA_VERSION},
          {"config", write_study(identity)}, {"text", config_text},
          {"data", data::spec_json(data)},   {"models", std::move(bases)}};
}

Result<HeaderRecord> read_header(const json& body) {
  return read_record<HeaderRecord>("header", [&] {
    HeaderRecord header;
    header.text = text(body, "text");
    auto config = read_study(header.text, "config.resolved.yaml");
    if (!config) throw Malformed{"the stored configuration cannot be read: " + config.error().message};
    header.config = *std::move(config);
    header.data = member(body, "data");
    header.models = member(body, "models");
    return header;
  });
}

json proposed_body(const study::TrialView& trial, double logical_epoch, const Digest& key) {
  return {{"trial", trial.id.value},
          {"proposal", study::proposal_json(trial.proposal)},
          {"logical_start", real_json(trial.logical_start)},
          {"logical_epoch", real_json(logical_epoch)},
          {"parameters", trial.parameters},
          {"key", key.hex()}};
}

Result<ProposedRecord> read_proposed(const json& body) {
  return read_record<ProposedRecord>("proposed record", [&] {
    return ProposedRecord{study::fields::trial(body, "trial"),
                          good(study::proposal_from_json(member(body, "proposal"))), real(body, "logical_start"),
                          real(body, "logical_epoch"), integer(body, "parameters")};
  });
}

json verdict_body(TrialId trial, std::int64_t epoch) {
  return {{"trial", trial.value}, {"epoch", epoch}, {"verdict", "stop"}};
}

Result<TrialId> read_verdict(const json& body) {
  return read_record<TrialId>("verdict", [&] { return study::fields::trial(body, "trial"); });
}

json outcome_body(TrialId trial, const study::Outcome& outcome, double logical_time) {
  json body = study::outcome_json(outcome);
  if (body.contains("reason")) body["reason"] = cut(outcome.reason);
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

json checkpoint_body(const CheckpointRecord& checkpoint) {
  return {{"trial", checkpoint.trial.value},
          {"epoch", checkpoint.epoch},
          {"step", checkpoint.step},
          {"address", checkpoint.address}};
}

Result<CheckpointRecord> read_checkpoint(const json& body) {
  return read_record<CheckpointRecord>("checkpoint record", [&] {
    return CheckpointRecord{study::fields::trial(body, "trial"), integer(body, "epoch"), integer(body, "step"),
                            text(body, "address")};
  });
}

json begin_body(double unix_time, std::int64_t pid, const std::string& host) {
  return {{"event", "begin"}, {"time", real_json(unix_time)}, {"pid", pid}, {"host", host}};
}

json worked_body(const std::string& event, double seconds) {
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
  json body{{"request", control.request}, {"time", real_json(control.time)}};
  if (control.trial) body["trial"] = control.trial->value;
  if (control.trials) body["trials"] = *control.trials;
  if (control.steps) body["steps"] = *control.steps;
  if (control.minutes) body["minutes"] = real_json(*control.minutes);
  if (!control.by.empty()) body["by"] = control.by;
  return body;
}

Result<ControlRecord> read_control(const json& body) {
  return read_record<ControlRecord>("control record", [&] {
    ControlRecord control;
    control.request = text(body, "request");
    if (body.contains("time")) control.time = real(body, "time");
    if (body.contains("trial")) control.trial = study::fields::trial(body, "trial");
    if (body.contains("trials")) control.trials = integer(body, "trials");
    if (body.contains("steps")) control.steps = integer(body, "steps");
    if (body.contains("minutes")) {
      control.lost_minutes = body["minutes"].is_null();
      if (!control.lost_minutes) control.minutes = real(body, "minutes");
    }
    if (body.contains("by")) control.by = text(body, "by");
    return control;
  });
}

json span_body(const study::Span& span) {
  return {{"trial", span.trial.value},
          {"epoch", span.epoch},
          {"worker", span.worker},
          {"began", real_json(span.began)},
          {"ended", real_json(span.ended)}};
}

Result<study::Span> read_span(const json& body) {
  return read_record<study::Span>("span", [&] {
    return study::Span{study::fields::trial(body, "trial"), integer(body, "epoch"), integer(body, "worker"),
                       real(body, "began"), real(body, "ended")};
  });
}

json study_end_body(const std::string& reason, std::optional<TrialId> winner,
                    const std::map<std::string, double>& test) {
  return {{"reason", cut(reason)}, {"winner", winner ? json(winner->value) : json()}, {"test", metrics_json(test)}};
}

Result<EndRecord> read_study_end(const json& body) {
  return read_record<EndRecord>("study end", [&] {
    EndRecord end;
    end.reason = text(body, "reason");
    if (!member(body, "winner").is_null()) end.winner = study::fields::trial(body, "winner");
    end.test = metrics(body, "test", &end.nulls);
    return end;
  });
}

Result<void> check_body(store::RecordType type, const json& body) {
  using store::RecordType;
  switch (type) {
    case RecordType::kHeader:
      return nothing_of(read_header(body));
    case RecordType::kProposed:
      return nothing_of(read_proposed(body));
    case RecordType::kMeasurement:
      return nothing_of(study::measurement_from_json(body));
    case RecordType::kVerdict:
      return nothing_of(read_verdict(body));
    case RecordType::kOutcome:
      return nothing_of(read_outcome(body));
    case RecordType::kCheckpoint:
      return nothing_of(read_checkpoint(body));
    case RecordType::kAttempt:
      return nothing_of(read_attempt(body));
    case RecordType::kControl:
      return nothing_of(read_control(body));
    case RecordType::kStudyEnd:
      return nothing_of(read_study_end(body));
    case RecordType::kSpan:
      return nothing_of(read_span(body));
    case RecordType::kCostRows:
      return nothing_of(store::logged_costs({{type, body}}));
    case RecordType::kNumerics:
    case RecordType::kPlan:
      return {};
  }
  return Error{Code::kInternal, "a record of the unknown type " + std::to_string(static_cast<int>(type)), "log"};
}

}  // namespace lanista::engine
