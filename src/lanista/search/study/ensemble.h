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
    TrialId trial;                ///< trial
    std::int64_t selections = 1;  ///< number of selections, at least 1; the weight is its share of all selections
    friend bool operator==(const Member&, const Member&) = default;
  };
  std::vector<Member> members;                               ///< each trial once
  std::map<std::string, double> validation = {}, test = {};  ///< metrics of the blend on the two parts

  /// Returns the weight of each member, with the sum 1.
  std::vector<double> shares() const;
  friend bool operator==(const Ensemble&, const Ensemble&) = default;
};

/// Returns the record of an ensemble.
nlohmann::json ensemble_json(const Ensemble& ensemble);
/// Reads the record of an ensemble. Throws fields::Malformed.
Ensemble read_ensemble(const nlohmann::json& object);

/// Returns the loss of a blend from the number of selections of each model; smaller is better. nullopt: the blend is
/// not allowed.
using EnsembleLoss = std::function<Result<std::optional<double>>(std::span<const std::int64_t> selections)>;

/// Selects an ensemble by greedy forward selection with replacement (Caruana et al. 2004, "Ensemble selection from
/// libraries of models", §2).
///
/// The first selection is the first model. Each further turn selects the model that gives the best blend, even if that
/// is worse than the blend before. There are at most `most` selections. The result is the best blend seen, as the
/// number of selections of each model, divided by their greatest common divisor.
///
/// Among blends that are equal up to rounding, fewer models win, then fewer selections. At a turn, a model that is
/// already in the blend wins, then the first one. Errors: those of `loss`, which is called once for each blend.
Result<std::vector<std::int64_t>> select_ensemble(std::size_t models, std::int64_t most, const EnsembleLoss& loss);

}  // namespace lanista::study
