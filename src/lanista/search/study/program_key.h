#pragma once

#include <cstdint>

#include "lanista/base/digest.h"
#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/op.h"
#include "lanista/search/study/config.h"
#include "lanista/search/study/epoch_selection.h"

namespace lanista::study {

/// Equal for trials that can be lanes of one program: models with the same nodes under the same ids, but for numbers
/// that a lane sets for itself (dropout's p, the momentum of batch norm), the same loss, optimiser, batch size, shards
/// and parts of them, and precision. Rates, decays, smoothing, seeds, schedules, augmentation are a lane's own. The
/// structure is the model's structure_key, whose `ops` hold its operators.
///
/// It knows no backend: the engine plans by it, for whatever its executor has. Who has machines asks
/// train::machine_key; an executor has one backend, so trials of one plan agree in both or in neither.
Digest program_key(const Digest& structure, const study::Recipe& recipe);
/// What of the model counts there.
Digest structure_key(const graph::Graph& model, const graph::OpTable& ops);

/// Bytes that a trial keeps from step to step: parameters and the optimiser's slots.
std::int64_t state_bytes(std::int64_t parameters, const study::Recipe& recipe);
/// Bytes of the copy of its weights that a trial keeps of its best epoch, if the rule picks one.
std::int64_t best_weights_bytes(std::int64_t parameters, const study::Recipe& recipe, const SelectionRule& rule);

}  // namespace lanista::study
