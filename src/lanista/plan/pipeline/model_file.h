#pragma once

#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "lanista/plan/pipeline/model.h"

namespace lanista::pipeline {

/// Returns a model as JSON.
///
/// {"pipeline_model": 1, "name", "hash", "batch", "parameter_copies", "operators": [{"name", "forward", "input_grad",
/// "weight_grad", "activation_bytes", "output_bytes", "parameter_bytes"}, ...], "edges": [[0, 1], ...]}. Times are
/// lists of seconds at 1, 2, 4, ... samples. An operator also has "again", its warm_cache_factor, if that is not 1.
nlohmann::json model_json(const Model& model);
/// Reads the JSON of model_json. A missing hash is that of operators and edges; missing parameter_copies are 4.
///
/// Errors: kDataLoss with the member and what is allowed; kInvalidArgument for a model that check(Model) refuses.
Result<Model> read_model(const nlohmann::json& json);

/// Reads a profile of PipeDream (graph.txt of its profiler).
///
/// A node is "node4 -- Conv2d(...) -- forward_compute_time=0.5, backward_compute_time=0.2, activation_size=4.0,
/// parameter_size=0.0", in milliseconds and bytes of a mini-batch. An edge is "\tnode4 -- node5". A mini-batch counts
/// as one sample, so a step has `batch` of them. Times are proportional to samples. "Input" nodes are left out. If an
/// operator has parameters, each of its two gradients gets half of the backward time.
/// Errors: kDataLoss with the line that cannot be read; kInvalidArgument for a model that check(Model) refuses.
Result<Model> read_pipedream_profile(std::string_view text, std::int64_t batch);

/// Reads an input of Piper: nodes with costs, edges, devices and bandwidth.
///
/// The costs of tensor-parallel degree 1 without recomputation are used ("vanilla", or the first). Their one time is
/// divided into three equal passes, or two without parameters. It is in seconds times `unit`, since one public file is
/// in milliseconds. Memory besides activations gives the mean parameter_copies. A sample is one micro-batch of Piper.
/// Errors: kDataLoss with the member that is wrong; kInvalidArgument for a problem that check refuses.
Result<Problem> read_piper_input(const nlohmann::json& json, double unit = 1);

}  // namespace lanista::pipeline
