#pragma once

#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace lanista::study {

/// How far one gets without a search.
struct Baseline {
  std::string name;                       ///< "constant", "linear"
  std::map<std::string, double> metrics;  ///< "val_accuracy", "test_accuracy", …

  friend bool operator==(const Baseline&, const Baseline&) = default;
};

nlohmann::json baselines_json(const std::vector<Baseline>& baselines);
/// The inverse. Throws fields::Malformed.
std::vector<Baseline> read_baselines(const nlohmann::json& array);

}  // namespace lanista::study
