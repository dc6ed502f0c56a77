#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "lanista/base/file_system.h"
#include "lanista/base/result.h"
#include "lanista/engine/core/executor.h"
#include "lanista/io/data/spec.h"
#include "lanista/io/store/checkpoints.h"
#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/op.h"
#include "lanista/plan/sharing/plan.h"
#include "lanista/search/study/config.h"
#include "lanista/search/study/study_view.h"

// The part of a study's models that is not trained (`model.frozen`): its nodes, its weights, and whether its outputs
// are cached. Trials train the rest, the head. Whole models are assembled when a package is written.
namespace lanista::engine {

/// The node of `base` with this name: an id like "%4", or else a label. Errors: kInvalidArgument (no such node, or
/// several with this label), always with model.frozen.through in `where`.
Result<graph::NodeId> find_node(const std::string& name, const graph::Graph& base);
/// The node `through` (an id like "%4" or a label) and all nodes that its value depends on. Errors: those of find_node.
Result<std::set<graph::NodeId>> frozen_nodes(const std::string& through, const graph::Graph& base);

/// Reads the weights of the frozen part from the source that the configuration names (the base's ONNX file or a
/// safetensors file). model.frozen must be set. Tensors are float32, in dependency order, so equal numbers give equal
/// bytes. Other tensors of the file are left out. A relative path starts at `folder`.
///
/// Errors: kInvalidArgument (a base without weights; a tensor that is missing or has another shape or type; an ONNX
/// file with another normalisation of the inputs than the data have), kNotFound (no such file). `where` is the
/// configuration key. Other errors are those of reading and decoding the file.
Result<store::Checkpoint> frozen_weights(const study::StudyConfig& config, const graph::Graph& base,
                                         const data::DataSpec& data, const std::string& folder, FileSystem& fs,
                                         const graph::OpTable& ops);

/// The frozen part of a study's jobs, with these nodes and this address of weights. FrozenPart::epochs is estimated
/// from the limit of trials, or from strategy.slots without one. Without `model.frozen` the result is empty.
FrozenPart frozen_part(const study::StudyConfig& config, const data::DataSpec& data,
                       const std::set<graph::NodeId>& nodes, const std::string& weights);
/// The frozen part of a study's jobs, computed from its log; empty if the study has none. Errors: kDataLoss (a stored
/// base model or the data description is invalid).
Result<FrozenPart> frozen_part(const study::StudyView& view);

/// A state that a trainer saved (of the trained part only), followed by the stored weights of the frozen part. Without
/// a frozen part the state is returned unchanged. Errors: those of CheckpointStore::get (kInvalidArgument, kNotFound,
/// kIo, kDataLoss).
Result<std::vector<Tensor>> full_state(std::vector<Tensor> state, const FrozenPart& frozen,
                                       const store::CheckpointStore& checkpoints);

/// Decides whether the outputs of a frozen prefix are computed once and cached, or computed for each batch. The planner
/// and the executors both use it. With augmentation only the validation rows count as cached. A quarter of `bytes`, the
/// memory limit of programs, is available, divided by the number of folds. Errors: those of
/// sharing::materialization_of.
Result<sharing::Materialized> frozen_cache_plan(const graph::Graph& prefix, const FrozenPart& frozen,
                                                const data::DataSpec& data, bool augmented, std::int64_t bytes);

}  // namespace lanista::engine
