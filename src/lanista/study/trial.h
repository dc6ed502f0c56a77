#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include "lanista/base/digest.h"
#include "lanista/base/id.h"
#include "lanista/base/result.h"
#include "lanista/graph/editor.h"
#include "lanista/space/chooser.h"
#include "lanista/space/domain.h"

namespace lanista::study {

/// A trial is decisions: replaying them gives the graph, bit for bit.
struct Proposal {
  std::int64_t base = 0;  ///< index into the study's base models
  Digest base_hash;
  std::vector<space::MutationStep> steps;
  std::vector<graph::Edit> edits;  ///< what the steps did; old studies open after a mutator changes
  Digest graph_hash;
  space::Sample sample;
  std::int64_t budget = 0;        ///< epochs
  std::optional<TrialId> parent;  ///< whose decisions it was made from
  std::int64_t repeat = 0;        ///< which training of these decisions, each with its own seed
};

/// Equal for trials that would do the same: graph, sample, budget, repeat (and start, which is random for now).
Digest duplicate_key(const Proposal& proposal);

/// What a trial measured at the end of an epoch. NaN and infinities are data.
struct Measurement {
  TrialId trial;
  std::int64_t epoch = 0;                 ///< 1-based; strictly increasing in a trial
  std::int64_t step = 0;                  ///< training steps so far
  std::map<std::string, double> metrics;  ///< train_loss, val_loss, val_accuracy, …
};

enum class OutcomeKind {
  kSucceeded,  ///< trained to its budget
  kStopped,    ///< ended early by the stopping rule; its last measurement counts
  kFailed,     ///< diverged, out of memory, an exception, a crash: data like any other
  kCancelled,  ///< ended by the user
  kDuplicate,  ///< equal to an earlier trial, whose result it takes
};
std::string_view outcome_name(OutcomeKind kind);

struct Outcome {
  OutcomeKind kind = OutcomeKind::kSucceeded;
  std::string reason;                  ///< "diverged: train_loss is nan at epoch 2", or empty
  std::optional<TrialId> same_as;      ///< kDuplicate
  std::string weights;                 ///< content address of the final weights; empty if none were kept
  std::optional<Digest> weights_hash;  ///< of the final state's bytes, kept or not
};

// What a strategy sees, in logical order.
struct Proposed {
  TrialId trial;
  Proposal proposal;
};
struct Measured {
  Measurement measurement;
};
struct Ended {
  TrialId trial;
  Outcome outcome;
};
using Event = std::variant<Proposed, Measured, Ended>;

enum class Verdict { kContinue, kPause, kStop };

nlohmann::json proposal_json(const Proposal& proposal);
Result<Proposal> proposal_from_json(const nlohmann::json& json);
/// Numbers that JSON cannot hold are the texts "nan", "inf", "-inf".
nlohmann::json measurement_json(const Measurement& measurement);
Result<Measurement> measurement_from_json(const nlohmann::json& json);
nlohmann::json outcome_json(const Outcome& outcome);
Result<Outcome> outcome_from_json(const nlohmann::json& json);

}  // namespace lanista::study
