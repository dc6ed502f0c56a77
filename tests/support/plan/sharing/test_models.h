#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lanista/base/rng.h"
#include "lanista/model/graph/op.h"
#include "lanista/plan/sharing/plan.h"

namespace lanista::sharing::testing {

/// Returns the built-in operators.
const graph::OpTable& ops();

/// Returns the model of a text. A text that cannot be parsed fails the test by throwing.
graph::Graph parsed(const std::string& text);

/// Returns the model input[8] - linear `width` - relu - linear 3 - output.
graph::Graph mlp(std::int64_t width = 16);

/// Returns the model input[1,8,8] - conv2d 4 - relu - conv2d 4 - relu - flatten - linear `width` - relu - linear 3 -
/// output.
graph::Graph backbone_with_head(std::int64_t width = 8);

/// Returns trial `trial` with an input pipeline of read and normalize, which needs 10 us a sample.
FusionMember member(std::uint32_t trial, graph::Graph model);

/// Returns 2 to 12 random trials: mutated models with random batch sizes, optimisers, data streams and frozen parts.
std::vector<FusionMember> population(Rng& rng, const graph::OpTable& ops);

/// Returns the number of nodes that merge_equal saves among these members.
std::size_t nodes_saved(const std::vector<FusionMember>& members);

/// Returns the plan of plan_of. A plan that cannot be made fails the test by throwing.
FusionPlan planned(std::vector<FusionMember> members, const std::vector<std::vector<std::size_t>>& programs,
                   const plan::Costs& costs = {});

/// Returns one program with the lanes 0 to `lanes` - 1.
std::vector<std::vector<std::size_t>> one_program(std::size_t lanes);

/// Returns the programs in which members with equal training steps are lanes. A trial that must run alone does.
std::vector<std::vector<std::size_t>> programs_by_step(const std::vector<FusionMember>& members);

}  // namespace lanista::sharing::testing
