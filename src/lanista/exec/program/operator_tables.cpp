#include "lanista/exec/program/operator_tables.h"

#include "lanista/model/autodiff/training_step.h"

namespace lanista::nn {

OperatorTables::OperatorTables(const ProgramOptions& options) {
  static const Operators shipped;
  static const graph::OpTable shipped_ops = step::training_ops(shipped.table());
  operators_ = options.operators != nullptr ? options.operators : &shipped;
  step_ops_ = options.step_ops != nullptr ? options.step_ops : &shipped_ops;
  if (options.step_ops != nullptr || options.operators == nullptr) return;
  own_ = step::training_ops(options.operators->table());
  step_ops_ = &own_;
}

}  // namespace lanista::nn
