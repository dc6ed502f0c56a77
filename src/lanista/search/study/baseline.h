#pragma once

#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace lanista::study {

/// Metrics of a simple model on the data of a study, with which a search is compared.
struct Baseline {
  std::string name;                       ///< Kind of model: "constant", "linear" or "trees".
  std::map<std::string, double> metrics;  ///< Values by name: "val_accuracy", "test_accuracy", …

  friend bool operator==(const Baseline&, const Baseline&) = default;
};

/// Returns a list of baselines as a JSON record: [{"name", "metrics"}].
nlohmann::json baselines_json(const std::vector<Baseline>& baselines);
/// Reads the record of a list of baselines. Throws fields::Malformed (a field is missing or invalid).
std::vector<Baseline> read_baselines(const nlohmann::json& array);

}  // namespace lanista::study
