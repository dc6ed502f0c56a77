#include "lanista/study/trial.h"

#include <utility>

#include "lanista/study/record_fields.h"

namespace lanista::study {
namespace {

using nlohmann::json;
using namespace fields;

constexpr std::pair<OutcomeKind, std::string_view> kOutcomes[] = {{OutcomeKind::kSucceeded, "succeeded"},
                                                                  {OutcomeKind::kStopped, "stopped"},
                                                                  {OutcomeKind::kFailed, "failed"},
                                                                  {OutcomeKind::kCancelled, "cancelled"},
                                                                  {OutcomeKind::kDuplicate, "duplicate"}};

}  // namespace

Digest duplicate_key(const Proposal& proposal) {
  // The choices of a model are in its graph; two samples that lead to one graph are one trial.
  space::Sample recipe = proposal.sample;
  std::erase_if(recipe, [](const auto& entry) { return space::is_model_choice(entry.first); });
  Hasher hasher;
  hasher.digest(proposal.graph_hash).digest(space::hash_sample(recipe)).number(proposal.budget);
  if (proposal.repeat != 0) hasher.number(proposal.repeat);  // the first has the key that it always had
  return hasher.finish();
}

std::string_view outcome_name(OutcomeKind kind) {
  for (const auto& [k, name] : kOutcomes) {
    if (k == kind) return name;
  }
  LANISTA_CHECK(false, "an outcome without a name");
  return {};
}

json proposal_json(const Proposal& proposal) {
  json steps = json::array();
  for (const space::MutationStep& step : proposal.steps) {
    steps.push_back({{"mutator", step.mutator}, {"trace", space::trace_json(step.trace)}});
  }
  json edits = json::array();
  for (const graph::Edit& edit : proposal.edits) edits.push_back(graph::edit_text(edit));
  json out{{"base", proposal.base},
           {"base_hash", proposal.base_hash.hex()},
           {"steps", std::move(steps)},
           {"edits", std::move(edits)},
           {"graph_hash", proposal.graph_hash.hex()},
           {"sample", space::sample_json(proposal.sample)},
           {"budget", proposal.budget}};
  if (proposal.parent) out["parent"] = proposal.parent->value;
  if (proposal.repeat != 0) out["repeat"] = proposal.repeat;
  return out;
}

Result<Proposal> proposal_from_json(const json& in) {
  return read_record<Proposal>("proposal", [&] {
    Proposal proposal;
    proposal.base = integer(in, "base");
    proposal.base_hash = digest(in, "base_hash");
    for (const json& step : array(in, "steps")) {
      proposal.steps.push_back({text(step, "mutator"), good(space::trace_from_json(member(step, "trace")))});
    }
    for (const json& edit : array(in, "edits")) {
      proposal.edits.push_back(good(graph::parse_edit(edit.get<std::string>())));
    }
    proposal.graph_hash = digest(in, "graph_hash");
    proposal.sample = good(space::sample_from_json(member(in, "sample")));
    proposal.budget = integer(in, "budget");
    if (in.contains("parent")) proposal.parent = trial(in, "parent");
    if (in.contains("repeat")) proposal.repeat = integer(in, "repeat");
    if (proposal.repeat < 0) throw Malformed{"'repeat' is below 0"};
    return proposal;
  });
}

json measurement_json(const Measurement& measurement) {
  return {{"trial", measurement.trial.value},
          {"epoch", measurement.epoch},
          {"step", measurement.step},
          {"metrics", metrics_json(measurement.metrics)}};
}

Result<Measurement> measurement_from_json(const json& in) {
  return read_record<Measurement>("measurement", [&] {
    Measurement measurement;
    measurement.trial = fields::trial(in, "trial");
    measurement.epoch = integer(in, "epoch");
    measurement.step = integer(in, "step");
    measurement.metrics = metrics(in, "metrics");
    return measurement;
  });
}

json outcome_json(const Outcome& outcome) {
  json out{{"kind", outcome_name(outcome.kind)}};
  if (!outcome.reason.empty()) out["reason"] = outcome.reason;
  if (outcome.same_as) out["same_as"] = outcome.same_as->value;
  if (!outcome.weights.empty()) out["weights"] = outcome.weights;
  if (outcome.weights_hash) out["weights_hash"] = outcome.weights_hash->hex();
  return out;
}

Result<Outcome> outcome_from_json(const json& in) {
  return read_record<Outcome>("outcome", [&] {
    Outcome outcome;
    const std::string name = text(in, "kind");
    bool known = false;
    for (const auto& [kind, kind_name] : kOutcomes) {
      if (kind_name == name) {
        outcome.kind = kind;
        known = true;
      }
    }
    if (!known) throw Malformed{"'kind' is '" + name + "', which no outcome is called"};
    if (in.contains("reason")) outcome.reason = text(in, "reason");
    if (in.contains("same_as")) outcome.same_as = trial(in, "same_as");
    if (in.contains("weights")) outcome.weights = text(in, "weights");
    if (in.contains("weights_hash")) outcome.weights_hash = digest(in, "weights_hash");
    return outcome;
  });
}

}  // namespace lanista::study
