#pragma once

#include <optional>
#include <string>

#include "lanista/engine/forecast/forecast.h"

namespace lanista::cli {

/// Options of `simulate` for a study.
struct SimulateRequest {
  std::string study;                    ///< Study file or study folder.
  std::string cluster;                  ///< File of the cluster.
  std::optional<std::string> profiles;  ///< Folder of timing history, or "off"; absent: run.profiles; file only.
  bool json = false;                    ///< True: print one JSON object.
};

/// Prints the forecast of a study on a cluster: of a study folder with its measured times, of a study file with known
/// or predicted times. Returns the exit code.
int simulate_study(const SimulateRequest& request);

/// Prints a forecast as text or as one JSON object, or its error. Returns the exit code.
int print_forecast(const Result<engine::Forecast>& forecast, bool json);

}  // namespace lanista::cli
