#pragma once

#include <optional>
#include <string>

#include "lanista/engine/forecast/forecast.h"

namespace lanista::cli {

struct SimulateRequest {
  std::string study;  ///< a study file, or the folder of a study
  std::string cluster;
  std::optional<std::string> profiles;  ///< folder of times, or off; none: as the study says
  bool json = false;
};

/// Prints what a study would take on a cluster. Gives the exit code.
int simulate_study(const SimulateRequest& request);

/// As text or as one JSON object. Gives the exit code.
int print_forecast(const Result<engine::Forecast>& forecast, bool json);

}  // namespace lanista::cli
