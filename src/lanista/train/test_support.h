#pragma once

#include "lanista/data/dataset.h"
#include "lanista/graph/op.h"
#include "lanista/step/training_step.h"

// What tests of training train on. Read once a process.
namespace lanista::train {

inline const data::Dataset& digits() {
  static const data::Dataset set = *data::open({}, ".", real_file_system());
  return set;
}
inline const graph::OpTable& ops() {
  static const graph::OpTable table = step::training_ops(graph::builtin_ops());
  return table;
}

}  // namespace lanista::train
