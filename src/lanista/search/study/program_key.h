#pragma once

#include <cstdint>

#include "lanista/base/digest.h"
#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/op.h"
#include "lanista/search/study/config.h"
#include "lanista/search/study/epoch_selection.h"

namespace lanista::study {

/// Returns a key that is equal for trials that can be lanes of one program. `structure` is the structure_key of the
/// model.
///
/// Such trials have equal nodes with equal ids. They have the same loss, optimiser, batch size, largest_batch(),
/// shards, micro-batches and precision. Each lane has its own learning rate, decay, smoothing, seed, schedule,
/// augmentation, dropout rate and batch-norm momentum. The key does not depend on the backend.
Digest program_key(const Digest& structure, const study::Recipe& recipe);
/// Returns a key of the model for program_key: its nodes without attributes that each lane sets for itself. `ops`
/// defines the operators.
Digest structure_key(const graph::Graph& model, const graph::OpTable& ops);

/// Returns the bytes of the state that a trial keeps between steps: `parameters` numbers in the precision of the
/// recipe, and the optimiser state of each. Buffers and counters are not included.
std::int64_t state_bytes(std::int64_t parameters, const study::Recipe& recipe);
/// Returns the bytes of a copy of `parameters` numbers for the best epoch's weights, with 8 bytes a number if the
/// recipe has the precision float64 and 4 else. 0 if the rule selects the last epoch.
std::int64_t best_weights_bytes(std::int64_t parameters, const study::Recipe& recipe, const SelectionRule& rule);

}  // namespace lanista::study
