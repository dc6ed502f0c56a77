#include "lanista/search/study/baseline.h"

#include "lanista/search/study/record_fields.h"

namespace lanista::study {

nlohmann::json baselines_json(const std::vector<Baseline>& baselines) {
  nlohmann::json out = nlohmann::json::array();
  for (const Baseline& baseline : baselines) {
    out.push_back({{"name", baseline.name}, {"metrics", fields::metrics_json(baseline.metrics)}});
  }
  return out;
}

std::vector<Baseline> read_baselines(const nlohmann::json& array) {
  std::vector<Baseline> out;
  for (const nlohmann::json& entry : array) {
    out.push_back({fields::text(entry, "name"), fields::metrics(entry, "metrics")});
  }
  return out;
}

}  // namespace lanista::study
