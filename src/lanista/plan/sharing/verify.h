#pragma once

#include "lanista/base/result.h"
#include "lanista/model/graph/op.h"
#include "lanista/plan/sharing/plan.h"

namespace lanista::sharing {

/// Checks that a plan computes what its trials would compute alone.
///
/// It reads the models of the members, and not the keys by which nodes are merged:
///   - every trial is in one group and one lane, and every node of every trial is computed exactly once;
///   - every input is computed before it is read, by the node which the model of the trial names;
///   - a shared node has no trained weights and no random masks of one trial; its owners have equal operations, frozen
///     weights, samples, precision and inputs;
///   - the lanes of an operator have equal operations, input types, batch sizes and precision, are equally frozen, and
///     have different trials.
/// The same holds for the parts of each group. Errors: kInternal, with the node where one node is at fault.
Result<void> verify(const FusionPlan& plan, const graph::OpTable& ops);

}  // namespace lanista::sharing
