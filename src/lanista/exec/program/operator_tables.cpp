#include "lanista/exec/program/operator_tables.h"

#include "lanista/model/autodiff/training_step.h"

namespace lanista::program {

OperatorTables::OperatorTables(const ProgramOptions& options) {
  static const Operators shipped;
  static const graph::OpTable shipped_ops = autodiff::training_ops(shipped.table());
  operators_ = options.operators != nullptr ? options.operators : &shipped;
  step_ops_ = options.step_ops != nullptr ? options.step_ops : &shipped_ops;
  if (options.step_ops != nullptr || options.operators == nullptr) return;
  own_ = autodiff::training_ops(options.operators->table());
  step_ops_ = &own_;
}

}  // namespace lanista::program
