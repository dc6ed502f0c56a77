#pragma once

#include <set>

#include "lanista/exec/program/lower.h"
#include "lanista/model/autodiff/training_step.h"

namespace lanista::nn::testing {

/// Whether a model's numbers were wrong in numeric class own-1: there the sum of three values or more could take the
/// place of its first or second input although the same value came again at a later input. To count such models.
bool v1_rule_overwrote_value_read_again(const step::TrainingStep& train, const step::InferenceStep& infer);
/// The same in one section. `live_out` are values read after the last call, `outside_arena` those that lie outside the
/// arena; both resolved by LoweredGraph::source.
bool v1_rule_overwrote_value_read_again(const LoweredGraph& lowered, const std::set<graph::Port>& live_out,
                                        const std::set<graph::Port>& outside_arena);

}  // namespace lanista::nn::testing
