#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "lanista/app/cli/pipeline_verbs.h"
#include "lanista/engine/forecast/cluster_file.h"
#include "lanista/engine/forecast/timing_history.h"
#include "lanista/engine/local/device_pool.h"
#include "lanista/io/data/spec.h"
#include "lanista/model/mutate/model_space.h"
#include "lanista/search/study/config.h"

namespace lanista::cli {

/// Options of `plan`, and of `simulate` for a study file.
struct PlanVerbRequest {
  std::optional<std::int64_t> trials;          ///< Number of trials; absent: strategy.slots.
  std::optional<std::int64_t> workers, lanes;  ///< Workers and lanes as for `run`; absent: those of the study.
  bool measure = false;                 ///< True: measure the programs instead of predicting times; not for a forecast.
  bool explain = false;                 ///< True: print what the trials share, too.
  bool json = false;                    ///< True: print one JSON object.
  std::optional<std::string> profiles;  ///< Folder of the timing history, or "off"; absent: run.profiles.
  std::shared_ptr<const engine::TimingHistory> known;  ///< Timing history of `profiles` for this machine; null: none.
  /// If set, prints a forecast for this cluster instead of the plan. Without `trials` it has as many as the budget, or
  /// else strategy.slots; at most 1024.
  std::optional<engine::ClusterFile> simulated_cluster;
  runtime::TimedDevices timed_devices;      ///< Measured devices; empty: the CPU alone.
  std::optional<PipelineRequest> pipeline;  ///< If set: plan the pipeline stages of the first base model instead.
};

/// Prints which of a study's first trials would train together on this machine, with predicted times; or the forecast
/// for `simulated_cluster`; or the stages of `pipeline`. It measures the machine's speed in under a second; measuring
/// the programs needs one more second. Returns the exit code.
int print_plan(const PlanVerbRequest& verb_request, const study::StudyConfig& config, const data::DataSpec& data,
               const std::shared_ptr<const mutate::ModelSpace>& models);

}  // namespace lanista::cli
