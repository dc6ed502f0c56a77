#pragma once

#include <set>

#include "lanista/exec/program/lower.h"
#include "lanista/model/autodiff/training_step.h"

namespace lanista::program::testing {

/// Whether a model's results were wrong in numeric class own-1. There, the sum of three or more values could be stored
/// over its first or second input although a later input was the same value. Used to count such models.
bool v1_rule_overwrote_value_read_again(const autodiff::TrainingStep& train, const autodiff::InferenceStep& infer);
/// The same for one section. `live_out` are values that are read after the last call, `outside_arena` those outside of
/// the arena. Both are resolved by LoweredGraph::source.
bool v1_rule_overwrote_value_read_again(const LoweredGraph& lowered, const std::set<graph::Port>& live_out,
                                        const std::set<graph::Port>& outside_arena);

}  // namespace lanista::program::testing
