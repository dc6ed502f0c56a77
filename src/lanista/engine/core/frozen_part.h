#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "lanista/base/file_system.h"
#include "lanista/base/result.h"
#include "lanista/io/data/spec.h"
#include "lanista/engine/core/executor.h"
#include "lanista/plan/sharing/plan.h"
#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/op.h"
#include "lanista/io/store/checkpoints.h"
#include "lanista/search/study/config.h"
#include "lanista/search/study/study_view.h"

// The part of a study's models that is not trained (`model.frozen`): which nodes, which weights, whether what it gives
// is kept. Trials train heads; their whole models are put together wherever somebody takes one along.
namespace lanista::engine {

/// The node that is called so: "%4" or a label. Errors: as of frozen_nodes.
Result<graph::NodeId> find_node(const std::string& name, const graph::Graph& base);
/// A node and all that it reads. `through` is "%4" or a label. Errors: kInvalidArgument (no such node, a label of
/// several).
Result<std::set<graph::NodeId>> frozen_nodes(const std::string& through, const graph::Graph& base);

/// The weights of a configuration's frozen part as the study stores them: float32, in dependency order, the same bytes
/// for the same numbers. Errors: kInvalidArgument and kNotFound with the configuration key in `where`: a base without
/// weights, tensors that are missing or of another shape or type by name, inputs that the base normalises otherwise
/// than the data; those of files.
Result<store::Checkpoint> frozen_weights(const study::StudyConfig& config, const graph::Graph& base,
                                         const data::DataSpec& data, const std::string& folder, FileSystem& fs,
                                         const graph::OpTable& ops);

/// The frozen part of a study's jobs; without one, an empty one.
FrozenPart frozen_part(const study::StudyConfig& config, const data::DataSpec& data,
                       const std::set<graph::NodeId>& nodes, const std::string& weights);
/// The same from the records. Errors: kDataLoss (a stored base, or what the data are, that cannot be read).
Result<FrozenPart> frozen_part(const study::StudyView& view);

/// What a trial's trainer saved, with the weights of its frozen part. Errors: those of CheckpointStore::get.
Result<std::vector<Tensor>> full_state(std::vector<Tensor> state, const FrozenPart& frozen,
                                        const store::CheckpointStore& checkpoints);

/// Whether all that a prefix gives of the data is computed once and kept, or whenever it is asked for; planner and
/// executors ask the same. Behind augmentations only what is measured on is kept. `bytes`: that programs may take.
Result<fuse::Materialized> frozen_cache_plan(const graph::Graph& prefix, const FrozenPart& frozen,
                                          const data::DataSpec& data, bool augmented, std::int64_t bytes);

}  // namespace lanista::engine
