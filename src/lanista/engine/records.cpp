#include "lanista/engine/study_file.h"
#include "lanista/engine/study_state.h"
#include "lanista/graph/text.h"

namespace lanista::engine {
using nlohmann::json;

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

json proposed_body(const TrialView& trial, double logical_epoch, const Digest& key) {
  return {{"trial", trial.id.value},
          {"proposal", study::proposal_json(trial.proposal)},
          {"logical_start", trial.logical_start},
          {"logical_epoch", logical_epoch},
          {"parameters", trial.parameters},
          {"key", key.hex()}};
}

json outcome_body(TrialId trial, const study::Outcome& outcome, double logical_time) {
  json body = study::outcome_json(outcome);
  body["trial"] = trial.value;
  body["logical_time"] = logical_time;
  return body;
}

json span_body(const study::Span& span) {
  return {{"trial", span.trial.value},
          {"epoch", span.epoch},
          {"worker", span.worker},
          {"began", span.began},
          {"ended", span.ended}};
}

json study_end_body(const std::string& reason, std::optional<TrialId> winner,
                    const std::map<std::string, double>& test) {
  return {{"reason", reason}, {"winner", winner ? json(winner->value) : json()}, {"test", test}};
}

}  // namespace lanista::engine
