#pragma once

#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace lanista::study {

/// Metrics of a simple model, which a search has to beat.
struct Baseline {
  std::string name;                       ///< "constant" or "linear"
  std::map<std::string, double> metrics;  ///< values by name: "val_accuracy", "test_accuracy", …

  friend bool operator==(const Baseline&, const Baseline&) = default;
};

/// Returns the record of a list of baselines.
nlohmann::json baselines_json(const std::vector<Baseline>& baselines);
/// Reads the record of a list of baselines. Throws fields::Malformed.
std::vector<Baseline> read_baselines(const nlohmann::json& array);

}  // namespace lanista::study
