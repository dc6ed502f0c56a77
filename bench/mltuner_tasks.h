#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/io/data/dataset.h"
#include "lanista/model/graph/graph.h"

namespace lanista::bench {

/// What settings are tuned on: a model, its data, and what of the validation part is to be reached.
struct TuneTask {
  std::string name;
  data::Dataset data;
  graph::Graph model;
  std::string loss = "cross_entropy";
  std::int64_t batch = 32;
  std::int64_t steps_per_epoch = 0;  ///< 0: a pass
  double target = 0;                 ///< accuracy of the validation part, or, where targets are numbers, its loss
  bool reported = true;              ///< false: constants are chosen on it, and nothing is claimed by it
  bool rate_changes = false;         ///< no rate is the best one throughout

  const char* metric() const { return loss == "cross_entropy" ? "val_accuracy" : "val_loss"; }
  bool is_better(double value, double other) const { return loss == "cross_entropy" ? value > other : value < other; }
  bool reached(double value) const { return loss == "cross_entropy" ? value >= target : value <= target; }
};

/// digits-cnn: the built-in base; nb201-cell: a cell of NAS-Bench-201 on the digits; transformer-tiny: four kinds of
/// chains of tokens are told apart; noisy-line: a linear regression of features of very different scales under noise,
/// whose validation loss is to come within a hundredth of the noise: that needs a large rate at first and a small one
/// at last; noisy-line-1 to -8: the same of other rows, since one line's target may be near or far. Those for
/// development are of other data and other models: dev-mlp, dev-cnn (faint strokes at any place), dev-transformer
/// (other chains), dev-line and dev-line-1 to -8 (other rows: by how far the training rows' own best line is off, the
/// target is near or far).
Result<std::vector<TuneTask>> tune_tasks();

}  // namespace lanista::bench
