#pragma once

#include <utility>

#include "lanista/exec/train/trial_run.h"
#include "lanista/io/data/dataset.h"
#include "lanista/model/autodiff/training_step.h"
#include "lanista/model/graph/op.h"

// What tests of training train on. Read once a process.
namespace lanista::train {

inline const data::Dataset& digits() {
  static const data::Dataset set = *data::open({}, ".", real_file_system());
  return set;
}
inline const graph::OpTable& ops() {
  static const graph::OpTable table = autodiff::training_ops(graph::builtin_ops());
  return table;
}

/// A trial of this model and recipe on them.
inline TrainerInput digits_trial(graph::Graph model, study::Recipe recipe) {
  return {.trial = TrialId{4},
          .model = std::move(model),
          .recipe = std::move(recipe),
          .metrics = {},
          .trial_seed = 11,
          .data_seed = 12,
          .data = &digits(),
          .step_ops = &ops()};
}

}  // namespace lanista::train
