#include "lanista/search/study/config.h"

namespace lanista::study {

nlohmann::json class_weights_json(const ClassWeights& weights) {
  if (weights.balanced) return "balanced";
  return weights.of.empty() ? nlohmann::json() : nlohmann::json(weights.of);
}

Result<ClassWeights> read_class_weights(const nlohmann::json& json) {
  const auto refuse = [&](const std::string& message) {
    return Error{Code::kInvalidArgument, message, std::string(kClassWeightsKey)};
  };
  ClassWeights out;
  if (json.is_null() || json == "none") return out;
  if (json == "balanced") {
    out.balanced = true;
    return out;
  }
  if (!json.is_object() || json.empty()) {
    return refuse(json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).substr(0, 64) +
                  " is not allowed; balanced, or {CLASS: WEIGHT, ...}");
  }
  for (const auto& [name, value] : json.items()) {
    const double weight = value.is_number() ? value.get<double>() : -1;
    if (!(weight >= 0 && weight <= kMaxClassWeight)) {
      return refuse("the weight of '" + name + "' is " +
                    value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).substr(0, 64) +
                    ", allowed is a number from 0 to 1e6");
    }
    out.of.emplace(name, weight);
  }
  return out;
}

}  // namespace lanista::study
