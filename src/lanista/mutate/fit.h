#pragma once

#include <string>
#include <vector>

#include "lanista/mutate/mutator.h"
#include "lanista/mutate/view.h"

namespace lanista::mutate {

/// One operation on the way from one shape to another. `num_zeros` > 0: a concat of the value with that many blocks of
/// zeros of its own shape.
struct Piece {
  std::string op;
  graph::Attrs attrs;
  int num_zeros = 0;
};

/// What turns a value of type `have` into one of type `want`, as the policy says; nothing if they are equal.
/// Errors: kNotApplicable with both shapes; kUnimplemented for interpolation.
Result<std::vector<Piece>> fit_plan(const graph::ValueType& have, const graph::ValueType& want,
                                    const RepairPolicy& policy);

/// Appends the pieces to `source` as nodes labelled as repairs; returns the fitted value.
graph::Port emit_plan(graph::Editor& editor, graph::Port source, const std::vector<Piece>& plan);

/// repair_joins that also gives the types it found.
Result<graph::Types> repair_and_type(graph::Editor& editor, const graph::OpTable& ops, const RepairPolicy& policy);

/// Ends a mutation: repairs joins, makes sure that the model still gives what it gave, and commits.
/// Errors: kNotApplicable with the reason; kUnimplemented from repairs.
Result<graph::Edited> settle(graph::Editor&& editor, const View& before, const RepairPolicy& policy);

}  // namespace lanista::mutate
