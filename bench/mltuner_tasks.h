#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/io/data/dataset.h"
#include "lanista/model/graph/graph.h"

namespace lanista::bench {

/// A task of benchmark `mltuner`: a model, its data and a target on the validation part.
struct TuneTask {
  std::string name;
  data::Dataset data;
  graph::Graph model;
  std::string loss = "cross_entropy";  ///< Name of the loss.
  std::int64_t batch = 32;             ///< Samples of a step.
  std::int64_t steps_per_epoch = 0;    ///< 0: an epoch is a pass over the rows.
  double target = 0;                   ///< Validation accuracy; for a regression, validation loss.
  bool reported = true;                ///< false: for the choice of constants only, not for results.
  bool rate_changes = false;           ///< true: no constant rate is the best one.

  /// The metric that is compared with the target.
  const char* metric() const { return loss == "cross_entropy" ? "val_accuracy" : "val_loss"; }
  /// True if `value` is strictly better than `other`.
  bool is_better(double value, double other) const { return loss == "cross_entropy" ? value > other : value < other; }
  /// True if `value` reaches the target.
  bool reached(double value) const { return loss == "cross_entropy" ? value >= target : value <= target; }
};

/// The tasks of benchmark `mltuner`. Errors: those of data sets and models.
///
/// Tasks for results:
/// - digits-cnn: the built-in base on the digits
/// - nb201-cell: a cell of NAS-Bench-201 on the digits
/// - transformer-tiny: a transformer that classifies token sequences of four kinds
/// - noisy-line: a linear regression with features of different scales and noise; the target is 1 % above the noise,
///   which needs a large rate first and a small rate at the end
/// - noisy-line-1 to -8: the same with other rows, because the distance of one target is a matter of chance
///
/// Tasks for the choice of constants, with other data and models: dev-mlp, dev-cnn (images of glyphs), dev-transformer
/// (six kinds of sequences), dev-line, and dev-line-1 to -8.
Result<std::vector<TuneTask>> tune_tasks();

}  // namespace lanista::bench
