#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lanista/io/data/spec.h"
#include "lanista/model/mutate/model_space.h"
#include "lanista/search/study/config.h"

namespace lanista::cli {

/// What `plan --pipeline` and `simulate --pipeline` are asked.
struct PipelineRequest {
  std::string devices;            ///< a file; empty: those of a Piper input
  std::string plan;               ///< a file with a plan; empty: one is made
  std::string out;                ///< where the plan goes; empty: nowhere
  std::string costs;              ///< where the model with its costs goes; empty: nowhere
  std::string schedule = "kfkb";  ///< kfkb, gpipe or split
  std::optional<std::int64_t> batch, micro_batch;
  double unit = 1;  ///< seconds of a unit of time in a Piper input
  bool measure = false, explain = false, json = false;
  bool simulate = false;  ///< print the course of the step too
};

/// Of a file with a model and its costs: ours (JSON), a profile of PipeDream, an input of Piper. Gives the exit code.
int pipeline_of_file(const PipelineRequest& request, const std::string& file);
/// Whether a file is one of these, by how it begins.
bool is_pipeline_file(const std::string& file);
/// Of a study's first base model, on its own loss, optimiser and batch.
int pipeline_of_study(const PipelineRequest& request, const study::StudyConfig& config, const data::DataSpec& data,
                      const mutate::ModelSpace& models);

/// The stage graph of a file with a plan.
int show_pipeline_plan(const std::string& file, bool json);

}  // namespace lanista::cli
