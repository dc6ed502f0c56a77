#pragma once

#include "lanista/exec/program/opaque.h"
#include "lanista/exec/program/program.h"
#include "lanista/model/graph/op.h"

namespace lanista::program {

/// The operators of a program: those of its options, or the shipped ones. The shipped tables are made once a process.
/// It refers to the tables of the options, which must outlive it, and to itself, so it does not move.
class OperatorTables {
 public:
  /// Makes the table of step operators if the options have operators without it.
  explicit OperatorTables(const ProgramOptions& options);
  OperatorTables(const OperatorTables&) = delete;
  OperatorTables& operator=(const OperatorTables&) = delete;

  /// The operators that models may use, with the caller's kernels.
  const Operators& operators() const { return *operators_; }
  /// The operators of training steps: autodiff::training_ops of operators().table().
  const graph::OpTable& step_ops() const { return *step_ops_; }

 private:
  graph::OpTable own_;  // tables of a caller's operators, unless the options bring them
  const Operators* operators_;
  const graph::OpTable* step_ops_;
};

}  // namespace lanista::program
