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

/// Trials of a study whose predictions are blended, and how good the blend is.
struct Ensemble {
  struct Member {
    TrialId trial;
    std::int64_t selections = 1;  ///< at least 1; its share is that by the sum of all
    friend bool operator==(const Member&, const Member&) = default;
  };
  std::vector<Member> members;  ///< each trial once
  std::map<std::string, double> validation = {}, test = {};

  std::vector<double> shares() const;
  friend bool operator==(const Ensemble&, const Ensemble&) = default;
};

nlohmann::json ensemble_json(const Ensemble& ensemble);
/// The inverse. Throws fields::Malformed.
Ensemble read_ensemble(const nlohmann::json& object);

/// How bad a blend of the models of a library is, by how often each was drawn. nullopt: it must not be chosen.
using EnsembleLoss = std::function<Result<std::optional<double>>(std::span<const std::int64_t> selections)>;

/// Greedy forward selection with replacement (Caruana et al. 2004, "Ensemble selection from libraries of models", §2):
/// begins with the first model, draws at each turn the one that makes the blend best, whether or not that is better
/// than before, up to `most` draws in all, and gives the best blend seen on the way: how often each model was drawn,
/// shortened (2 and 2 are 1 and 1). Of equally good ones, within rounding, that of fewer models, then that of fewer
/// draws; at a turn the model that brings none along, then the first. Errors: those of `loss`, which is asked once for
/// each blend.
Result<std::vector<std::int64_t>> select_ensemble(std::size_t models, std::int64_t most, const EnsembleLoss& loss);

}  // namespace lanista::study
