#include "lanista/app/cli/repeat.h"

#include <iostream>
#include <map>
#include <sstream>

#include "lanista/base/file_system.h"
#include "lanista/base/printable.h"
#include "lanista/app/cli/app.h"
#include "lanista/app/cli/inspect.h"
#include "lanista/app/cli/load.h"
#include "lanista/app/cli/session.h"
#include "lanista/app/cli/use.h"
#include "lanista/io/data/dataset.h"
#include "lanista/io/data/select_guard.h"
#include "lanista/exec/backends/device.h"
#include "lanista/engine/core/assembly.h"
#include "lanista/engine/core/frozen.h"
#include "lanista/engine/core/warm_start.h"
#include "lanista/engine/local/repeat.h"

namespace lanista::cli {
namespace {

std::string metrics_text(const std::map<std::string, double>& metrics) {
  std::ostringstream text;
  for (const auto& [name, value] : metrics) text << "  " << printable(name) << " " << value;
  return text.str();
}

/// Of a study whose devices give other bits: that which trained the trial.
Result<const nn::Backend*> backend_that_trained(const std::string& device) {
  if (device == study::kCpu) return &nn::cpu_backend();
  auto backend = device::open(device);
  if (backend) return backend;
  return Error{backend.error().code,
               "the trial was trained on device " + device +
                   ", and only that one gives its bits; repeat it where it is: " + backend.error().message,
               ""};
}

}  // namespace

int repeat_trial(const RepeatRequest& request) {
  if (!parse_target(request.target).has_trial) {
    return report({Code::kInvalidArgument, "which trial? DIR#TRIAL", request.target});
  }
  auto loaded = load_trial(request.target);
  if (!loaded) return report(loaded.error());
  const auto& config = loaded->view.config;
  const auto& trial = loaded->trial();
  if (trial.measurements.empty()) {
    return report(
        {Code::kFailedPrecondition, "the trial measured nothing, so there is nothing to repeat", request.target});
  }
  const auto data = data::open(config.data, loaded->folder, real_file_system(), config.strategy.repeat);
  if (!data) return report(data.error());
  auto line = engine::jobs_of_line(loaded->view, data->spec(), trial, trial.measurements.back().epoch, loaded->model);
  if (!line) return report(line.error());
  const auto frozen = engine::frozen_part(loaded->view);
  if (!frozen) return report(frozen.error());
  for (engine::LineJob& each : *line) {
    each.job.frozen = *frozen;
    if (auto planned = engine::plan_start(each.job, loaded->view, graph::builtin_ops()); !planned) {
      return report(planned.error());
    }
  }
  engine::Job* job = &line->back().job;
  // What it found is played back; to the bit that is what it did. Such a trial never forks from another one.
  const bool tuned = !job->recipe.tune.name.empty() && job->recipe.tune.name != study::kPlayedBack;
  if (tuned) job->recipe.tune = study::played_back(study::schedule_of(trial.measurements));
  for (engine::LineJob& each : *line) {
    const bool found = each.job.recipe.select.name == data::kSelectAuto;
    if (!found) continue;
    const auto& whose = loaded->view.trials[each.job.trial.value - 1];
    each.job.recipe.select = data::selecting_played_back(each.job.recipe.select, whose.measurements);
  }
  const store::CheckpointStore checkpoints(real_file_system(), loaded->folder);
  const auto repeated = runtime::repeat_line(
      *line, config.train.metrics, *data,
      [](const study::Measurement& measurement) {
        std::cerr << "epoch " << measurement.epoch << metrics_text(measurement.metrics) << "\n";
      },
      {}, &checkpoints, backend_that_trained);
  if (!repeated) return report(repeated.error());

  if (!request.out.empty()) {
    const auto state = engine::whole_state(train::standing_weights(repeated->state), job->frozen, checkpoints);
    if (!state) return report(state.error());
    const auto package = engine::make_package(config, data->spec(), trial, job->recipe, loaded->model, *state, {});
    if (auto free = engine::check_package_folder(real_file_system(), request.out); !free) return report(free.error());
    if (auto written = engine::write_package(real_file_system(), request.out, package); !written) {
      return report(written.error());
    }
    std::cerr << "model " << printable(request.out) << "\n";
  }
  const auto kept = study::kept_place(study::kept_of(config, trial), repeated->measurements);
  const study::Measurement& result = repeated->measurements[kept];
  const bool known = trial.outcome && trial.outcome->weights_hash;
  const bool equal = known && *trial.outcome->weights_hash == repeated->hash;
  std::cout << "trial " << trial.id.value << metrics_text(result.metrics)
            << (equal   ? "  equal to the study's to the bit"
                : known ? "  DIFFERENT from the study's: other data, or another class of numerics"
                        : "  (the study noted no weights to compare with)")
            << "\n";
  return known && !equal ? kStudyFailed : kDone;
}

}  // namespace lanista::cli
