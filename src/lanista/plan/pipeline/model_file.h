#pragma once

#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "lanista/plan/pipeline/model.h"

namespace lanista::pipeline {

/// {"pipeline_model": 1, "name", "hash", "batch", "parameter_copies", "operators": [{"name", "forward", "input_grad",
/// "weight_grad", "activation_bytes", "output_bytes", "parameter_bytes"}, ...], "edges": [[0, 1], ...]}; times are
/// lists of seconds at 1, 2, 4, ... samples.
nlohmann::json model_json(const Model& model);
/// Without a hash it is that of operators and edges; parameter_copies is 4 where it is missing. Errors: kDataLoss
/// naming the member and what is allowed; those of check(Model), so what cannot be cut is refused.
Result<Model> read_model(const nlohmann::json& json);

/// A profile of PipeDream (its profiler's graph.txt): "node4 -- Conv2d(...) -- forward_compute_time=0.5,
/// backward_compute_time=0.2, activation_size=4.0, parameter_size=0.0" in milliseconds and bytes of one mini-batch, and
/// "\tnode4 -- node5". What was profiled counts as one sample, so a step has `batch` of them and times are proportional
/// above. "Input" nodes are data, not operators, and are left out. Backward passes were measured as one: half of it is
/// each gradient's where there are parameters. Errors: kDataLoss with the line; those of check(Model).
Result<Model> read_pipedream_profile(std::string_view text, std::int64_t batch);

/// An input of Piper: nodes with what they cost for each tensor-parallel degree, edges, devices, bandwidth. Taken is
/// what stands under degree 1 without recomputation ("vanilla", or the first). Its one time is that of three equal
/// passes, of two where there are no parameters; it is in seconds times `unit` (one of its public files is in
/// milliseconds). What a node holds beside its activations becomes parameter_copies, on average. A sample is one of its
/// micro-batches. Errors: as above.
Result<Problem> read_piper_input(const nlohmann::json& json, double unit = 1);

}  // namespace lanista::pipeline
