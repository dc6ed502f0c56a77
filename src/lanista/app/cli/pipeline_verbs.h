#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lanista/io/data/spec.h"
#include "lanista/model/mutate/model_space.h"
#include "lanista/search/study/config.h"

namespace lanista::cli {

/// Options of `plan --pipeline` and `simulate --pipeline`.
struct PipelineRequest {
  std::string devices;                      ///< File with device classes; empty: those of a Piper input, else an error.
  std::string plan;                         ///< File with a plan; empty: a new plan.
  std::string out;                          ///< File for the plan; empty: none.
  std::string costs;                        ///< File for the model with its costs; empty: none.
  std::string schedule = "kfkb";            ///< Order of micro-batches: kfkb, gpipe or split.
  std::optional<std::int64_t> batch;        ///< Samples of a step; absent: of the study or file, 32 for PipeDream.
  std::optional<std::int64_t> micro_batch;  ///< Samples of a micro-batch; absent: the planner chooses.
  double unit = 1;                          ///< Seconds of a time unit in a Piper input.
  bool measure = false;  ///< True: measure programs and warm caches instead of predicting; for a study only.
  bool explain = false;  ///< True: print the work of the planner, too; only for a new plan as text.
  bool json = false;     ///< True: print one JSON object.
};

/// Makes a plan for the pipeline of a model file, or reads that of the request, simulates a step and prints both. The
/// file is JSON with costs, a PipeDream profile or a Piper input. Returns the exit code.
int pipeline_of_file(const PipelineRequest& request, const std::string& file);
/// True if the name of the file ends with ".json", or if its text begins with "node" as a PipeDream profile does. The
/// file is not checked further.
bool is_pipeline_file(const std::string& file);
/// Plans a pipeline as pipeline_of_file() does, for a study's first base model with the study's loss, optimiser and
/// batch. Returns the exit code.
int pipeline_of_study(const PipelineRequest& request, const study::StudyConfig& config, const data::DataSpec& data,
                      const mutate::ModelSpace& models);

/// Prints the stage graph of a file with a plan. Returns the exit code.
int show_pipeline_plan(const std::string& file, bool json);

}  // namespace lanista::cli
