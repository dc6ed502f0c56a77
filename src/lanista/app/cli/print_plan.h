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

/// What `plan` was asked.
struct PlanVerbRequest {
  std::optional<std::int64_t> trials;          ///< none: as many as the study has slots
  std::optional<std::int64_t> workers, lanes;  ///< as of `run`
  bool measure = false;                        ///< time the programs; else predict from the machine's speed
  bool explain = false;
  bool json = false;
  std::optional<std::string> profiles;                 ///< folder of times, or off; none: as the study says
  std::shared_ptr<const engine::TimingHistory> known;  ///< what is in it, of this machine; null: nothing
  /// Not the plan is printed, but what the study's trials would take there; none given: as many trials as its budget
  /// has, at most 1024.
  std::optional<engine::ClusterFile> simulated_cluster;
  runtime::TimedDevices timed_devices;      ///< none: own kernels alone
  std::optional<PipelineRequest> pipeline;  ///< the stages of its first base model
};

/// Prints what would run together of a study's first trials on this machine, whose speed it measures in well under a
/// second; to time the programs takes a second more. Gives the exit code.
int print_plan(const PlanVerbRequest& verb_request, const study::StudyConfig& config, const data::DataSpec& data,
               const std::shared_ptr<const mutate::ModelSpace>& models);

}  // namespace lanista::cli
