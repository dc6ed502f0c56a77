#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include <nlohmann/json.hpp>

#include "lanista/base/id.h"
#include "lanista/base/result.h"

namespace lanista::study {

/// An ensemble of trials with the metrics of its blended predictions.
struct Ensemble {
  /// One trial of an ensemble.
  struct Member {
    TrialId trial;                ///< Trial that belongs to the ensemble.
    std::int64_t selections = 1;  ///< Number of selections, at least 1; the weight is its share of all selections.
    friend bool operator==(const Member&, const Member&) = default;
  };
  std::vector<Member> members;  ///< Members, each trial once.
  /// Metrics of the blend by name, on the validation and test part.
  std::map<std::string, double> validation = {}, test = {};

  /// Returns the weight of each member, in the order of `members`, with the sum 1.
  std::vector<double> shares() const;
  friend bool operator==(const Ensemble&, const Ensemble&) = default;
};

/// Returns an ensemble as a JSON record: "members", a list of {"trial", "draws"} (selections), "validation" and "test".
nlohmann::json ensemble_json(const Ensemble& ensemble);
/// Reads the record of an ensemble. Throws fields::Malformed (a field is missing or invalid, no member, or a trial
/// twice).
Ensemble read_ensemble(const nlohmann::json& object);

/// Returns the loss of a blend; smaller is better. `selections` has the number of selections of each model, without
/// common divisor. nullopt or NaN: the blend is not allowed. An error ends the selection.
using EnsembleLoss = std::function<Result<std::optional<double>>(std::span<const std::int64_t> selections)>;

/// Selects an ensemble by greedy forward selection with replacement (Caruana et al. 2004, "Ensemble selection from
/// libraries of models", §2).
///
/// The first selection is the first model. Each further turn selects the model that gives the best blend, even if that
/// is worse than the blend before. There are at most `most` selections of `models` models, at least 1. The result is
/// the best blend seen, as the number of selections of each model, divided by their greatest common divisor.
///
/// Among blends that are equal up to rounding, fewer models win, then fewer selections. At a turn, a model that is
/// already in the blend wins, then the first one. If the first model alone is not allowed, it is the result. Errors:
/// those of `loss`, which is called once for each blend.
Result<std::vector<std::int64_t>> select_ensemble(std::size_t models, std::int64_t most, const EnsembleLoss& loss);

}  // namespace lanista::study
