#pragma once

#include "lanista/model/graph/op.h"
#include "lanista/exec/program/opaque.h"
#include "lanista/exec/program/program.h"

namespace lanista::nn {

/// The operators that a program is made of: what its options name, or all that are shipped, whose tables are made once
/// a process. Refers to the options' tables, and to itself.
class OperatorTables {
 public:
  explicit OperatorTables(const ProgramOptions& options);
  OperatorTables(const OperatorTables&) = delete;
  OperatorTables& operator=(const OperatorTables&) = delete;

  const Operators& operators() const { return *operators_; }
  /// step::training_ops of them.
  const graph::OpTable& step_ops() const { return *step_ops_; }

 private:
  graph::OpTable own_;  // of a caller's operators, where none lies ready
  const Operators* operators_;
  const graph::OpTable* step_ops_;
};

}  // namespace lanista::nn
