#include "lanista/app/cli/repeat.h"

#include <iostream>
#include <map>
#include <sstream>

#include "lanista/app/cli/app.h"
#include "lanista/app/cli/inspect.h"
#include "lanista/app/cli/load.h"
#include "lanista/app/cli/model_verbs.h"
#include "lanista/app/cli/session.h"
#include "lanista/base/file_system.h"
#include "lanista/base/printable.h"
#include "lanista/engine/core/frozen_part.h"
#include "lanista/engine/core/moved_data.h"
#include "lanista/engine/core/study_setup.h"
#include "lanista/engine/core/warm_start.h"
#include "lanista/engine/local/repeat.h"
#include "lanista/exec/backends/device.h"
#include "lanista/io/data/dataset.h"

namespace lanista::cli {
namespace {

std::string metrics_text(const std::map<std::string, double>& metrics) {
  std::ostringstream text;
  for (const auto& [name, value] : metrics) text << "  " << printable(name) << " " << value;
  return text.str();
}

/// The backend of the device that trained the trial, if the study's devices give different bits.
Result<const program::Backend*> backend_that_trained(const std::string& device) {
  if (device == study::kCpu) return &program::cpu_backend();
  auto backend = device::open(device);
  if (backend) return backend;
  return Error{backend.error().code,
               "the trial was trained on device " + device +
                   ", and no other device gives the same bits: " + backend.error().message,
               ""};
}

}  // namespace

int repeat_trial(const RepeatRequest& request) {
  if (!parse_target(request.target).has_trial) {
    return print_error({Code::kInvalidArgument, "names no trial; it must be DIR#TRIAL", request.target});
  }
  auto loaded = load_trial(request.target);
  if (!loaded) return print_error(loaded.error());
  auto& config = loaded->view.config;
  const auto& trial = loaded->trial();
  if (trial.measurements.empty()) {
    return print_error(
        {Code::kFailedPrecondition, "the trial has no measurement, so it cannot be repeated", request.target});
  }
  if (!config.removed.empty()) {
    return print_error(
        {Code::kFailedPrecondition, "the trial cannot be repeated: " + config.removed.front(), request.target});
  }
  const auto data = engine::open_study_data(config, loaded->folder, real_file_system());
  if (!data) return print_error(data.error());
  auto line = engine::lineage_jobs(loaded->view, data->spec(), trial, trial.measurements.back().epoch, loaded->model);
  if (!line) return print_error(line.error());
  const auto frozen = engine::frozen_part(loaded->view);
  if (!frozen) return print_error(frozen.error());
  for (engine::LineageSegment& each : *line) {
    each.job.frozen = *frozen;
    if (auto planned = engine::plan_start(each.job, loaded->view, graph::builtin_ops()); !planned) {
      return print_error(planned.error());
    }
  }
  engine::Job* job = &line->back().job;
  // The searches are not repeated: their results are replayed from the log, which gives the same bits. Such a trial
  // never forks from another one.
  const bool tuned = !job->recipe.tune.name.empty() && job->recipe.tune.name != study::kReplaySchedule;
  if (tuned) job->recipe.tune = study::replay_schedule(study::schedule_of(trial.measurements));
  const store::CheckpointStore checkpoints(real_file_system(), loaded->folder);
  const auto repeated = runtime::repeat_lineage(
      *line, config.train.measured.metrics, *data,
      [](const study::Measurement& measurement) {
        std::cerr << "epoch " << measurement.epoch << metrics_text(measurement.metrics) << "\n";
      },
      {}, &checkpoints, backend_that_trained);
  if (!repeated) return print_error(repeated.error());

  if (!request.out.empty()) {
    const auto state = engine::full_state(train::selected_weights(repeated->state), job->frozen, checkpoints);
    if (!state) return print_error(state.error());
    const auto package = engine::make_package(config, data->spec(), trial, job->recipe, loaded->model, *state, {});
    if (auto free = engine::check_package_folder(real_file_system(), request.out); !free)
      return print_error(free.error());
    if (auto written = engine::write_package(real_file_system(), request.out, package); !written) {
      return print_error(written.error());
    }
    std::cerr << "model " << printable(request.out) << "\n";
  }
  const auto kept = study::selected_index(study::epoch_selector_of(config, trial), repeated->measurements);
  const study::Measurement& result = repeated->measurements[kept];
  const bool known = trial.outcome && trial.outcome->weights_hash;
  const bool equal = known && *trial.outcome->weights_hash == repeated->hash;
  std::cout << "trial " << trial.id.value << metrics_text(result.metrics)
            << (equal   ? "  equal to the study's to the bit"
                : known ? "  DIFFERENT from the study's: other data, or another numeric class"
                        : "  (the study has no stored weights to compare with)")
            << "\n";
  return known && !equal ? kStudyFailed : kDone;
}

}  // namespace lanista::cli
