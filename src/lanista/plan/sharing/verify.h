#pragma once

#include <string_view>

#include "lanista/base/result.h"
#include "lanista/model/graph/op.h"
#include "lanista/plan/sharing/plan.h"

namespace lanista::fuse {

/// Checks that a plan computes what its trials compute alone, from the members' own models and not from the keys that
/// passes merge by:
///   - every trial stands in one group and one lane; every node of every trial is computed exactly once;
///   - every input is computed before it is read, by the node that the trial's model names;
///   - what several trials share has no trained weights and draws nothing of a trial's own, equal operations, equal
///     frozen weights, equal samples and precision, and shared inputs;
///   - the lanes of an operator have equal operations, input types, batch sizes and precision, and belong to different
///     trials; a fan-out's lanes read one value and differ in `out` alone.
/// The same holds of what groups were joined from. Errors: kInternal, with the pass `after` which it was found.
Result<void> verify(const FusionPlan& plan, const graph::OpTable& ops, std::string_view after);

}  // namespace lanista::fuse
