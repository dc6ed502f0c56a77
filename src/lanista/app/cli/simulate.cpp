#include "lanista/app/cli/simulate.h"

#include <iostream>

#include "lanista/app/cli/app.h"
#include "lanista/app/cli/load.h"
#include "lanista/app/cli/session.h"
#include "lanista/app/cli/terminal.h"
#include "lanista/base/file_system.h"

namespace lanista::cli {

int print_forecast(const Result<engine::Forecast>& forecast, bool json) {
  if (!forecast) return print_error(forecast.error());
  if (json) {
    std::cout << json_line(engine::forecast_json(*forecast));
  } else {
    std::cout << printable_lines(engine::forecast_text(*forecast));
  }
  return kDone;
}

int simulate_study(const SimulateRequest& request) {
  const auto text = real_file_system().read(request.cluster, 0);
  if (!text) return print_error(text.error());
  const auto cluster = engine::read_cluster(*text, request.cluster);
  if (!cluster) return print_error(cluster.error());
  if (real_file_system().exists(request.study + "/log")) {
    const auto view = load_study(request.study);
    if (!view) return print_error(view.error());
    return print_forecast(engine::forecast_log(*view, *cluster), request.json);
  }
  RunRequest run;
  run.study_file = request.study;
  run.plan = PlanVerbRequest{};
  run.plan->json = request.json;
  run.plan->profiles = request.profiles;
  run.plan->simulated_cluster = *cluster;
  return run_study(run);
}

}  // namespace lanista::cli
