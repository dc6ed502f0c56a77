#include "lanista/study/trial.h"

#include <cmath>
#include <limits>
#include <utility>

namespace lanista::study {
namespace {

using nlohmann::json;

constexpr std::pair<OutcomeKind, std::string_view> kOutcomes[] = {{OutcomeKind::kSucceeded, "succeeded"},
                                                                  {OutcomeKind::kStopped, "stopped"},
                                                                  {OutcomeKind::kFailed, "failed"},
                                                                  {OutcomeKind::kCancelled, "cancelled"},
                                                                  {OutcomeKind::kDuplicate, "duplicate"}};

/// A record that does not have the form it was written in.
struct Malformed {
  std::string what;
};

const json& member(const json& object, const char* name) {
  if (!object.is_object()) throw Malformed{"not an object where one with '" + std::string(name) + "' is expected"};
  const auto it = object.find(name);
  if (it == object.end()) throw Malformed{"'" + std::string(name) + "' is missing"};
  return *it;
}

std::int64_t integer(const json& object, const char* name) {
  const json& value = member(object, name);
  if (!value.is_number_integer()) throw Malformed{"'" + std::string(name) + "' is not a whole number"};
  return value.get<std::int64_t>();
}

std::string text(const json& object, const char* name) {
  const json& value = member(object, name);
  if (!value.is_string()) throw Malformed{"'" + std::string(name) + "' is not a text"};
  return value.get<std::string>();
}

const json& array(const json& object, const char* name) {
  const json& value = member(object, name);
  if (!value.is_array()) throw Malformed{"'" + std::string(name) + "' is not a list"};
  return value;
}

TrialId trial(const json& object, const char* name) {
  const std::int64_t value = integer(object, name);
  if (value < 1 || value > std::numeric_limits<std::uint32_t>::max()) {
    throw Malformed{"'" + std::string(name) + "' is " + std::to_string(value) + ", not a trial's number"};
  }
  return TrialId{static_cast<std::uint32_t>(value)};
}

Digest digest(const json& object, const char* name) {
  const auto value = Digest::from_hex(text(object, name));
  if (!value) throw Malformed{"'" + std::string(name) + "' is not a hash"};
  return *value;
}

template <class T>
T good(Result<T> result) {
  if (!result) throw Malformed{result.error().text()};
  return *std::move(result);
}

json real_json(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

double real(const json& value, const std::string& name) {
  if (value.is_number()) return value.get<double>();
  if (value == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (value == "inf") return std::numeric_limits<double>::infinity();
  if (value == "-inf") return -std::numeric_limits<double>::infinity();
  throw Malformed{"metric '" + name + "' is not a number"};
}

/// Runs a reader; whatever does not fit becomes kDataLoss.
template <class T, class Reader>
Result<T> guarded(const char* what, const Reader& reader) {
  try {
    return reader();
  } catch (const Malformed& error) {
    return Error{Code::kDataLoss, std::string("broken ") + what + ": " + error.what, ""};
  } catch (const json::exception& error) {
    return Error{Code::kDataLoss, std::string("broken ") + what + ": " + error.what(), ""};
  }
}

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
  return guarded<Proposal>("proposal", [&] {
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
  json metrics = json::object();
  for (const auto& [name, value] : measurement.metrics) metrics[name] = real_json(value);
  return {{"trial", measurement.trial.value},
          {"epoch", measurement.epoch},
          {"step", measurement.step},
          {"metrics", std::move(metrics)}};
}

Result<Measurement> measurement_from_json(const json& in) {
  return guarded<Measurement>("measurement", [&] {
    Measurement measurement;
    measurement.trial = trial(in, "trial");
    measurement.epoch = integer(in, "epoch");
    measurement.step = integer(in, "step");
    const json& metrics = member(in, "metrics");
    if (!metrics.is_object()) throw Malformed{"'metrics' is not an object"};
    for (const auto& [name, value] : metrics.items()) measurement.metrics[name] = real(value, name);
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
  return guarded<Outcome>("outcome", [&] {
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
