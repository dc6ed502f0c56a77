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

/// The node with this name, an id like "%4" or a label. Errors: kInvalidArgument (no such node, or several).
Result<graph::NodeId> find_node(const std::string& name, const graph::Graph& base);
/// A node and everything that it depends on. `through` is an id like "%4" or a label. Errors: those of find_node.
Result<std::set<graph::NodeId>> frozen_nodes(const std::string& through, const graph::Graph& base);

/// The frozen weights of a configuration as the study stores them: float32, in dependency order, with equal bytes for
/// equal numbers. Errors: kInvalidArgument and kNotFound with the configuration key in `where` (a base without weights,
/// tensors that are missing or have another shape or type, inputs that the base normalises differently than the data),
/// those of files.
Result<store::Checkpoint> frozen_weights(const study::StudyConfig& config, const graph::Graph& base,
                                         const data::DataSpec& data, const std::string& folder, FileSystem& fs,
                                         const graph::OpTable& ops);

/// The frozen part of a study's jobs; empty if the study has none.
FrozenPart frozen_part(const study::StudyConfig& config, const data::DataSpec& data,
                       const std::set<graph::NodeId>& nodes, const std::string& weights);
/// The frozen part of a study from its log. Errors: kDataLoss (a stored base model or the data description is invalid).
Result<FrozenPart> frozen_part(const study::StudyView& view);

/// A state that a trainer saved, with the weights of its frozen part added. Errors: those of CheckpointStore::get.
Result<std::vector<Tensor>> full_state(std::vector<Tensor> state, const FrozenPart& frozen,
                                       const store::CheckpointStore& checkpoints);

/// Decides whether the outputs of a frozen prefix are computed once and cached, or computed when needed. The planner
/// and the executors both use it. With augmentation only the rows of the validation and test parts are cached. `bytes`
/// is the memory limit of programs.
Result<fuse::Materialized> frozen_cache_plan(const graph::Graph& prefix, const FrozenPart& frozen,
                                             const data::DataSpec& data, bool augmented, std::int64_t bytes);

}  // namespace lanista::engine
