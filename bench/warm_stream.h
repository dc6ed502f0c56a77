#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/base/rng.h"
#include "lanista/io/data/dataset.h"
#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/op.h"
#include "lanista/model/spaces/blueprint.h"
#include "lanista/model/spaces/nasbench201.h"

namespace lanista::bench {

/// A data set, and the number of models that train on it.
struct WarmTask {
  std::string name;
  data::Dataset data;
  std::int64_t models = 0;  ///< Models of a stream.
  double target = 0;        ///< Validation accuracy from 0 to 1.
};

/// The task `digits`, with the embedded data set.
Result<WarmTask> digits_task();

/// The task `glyphs`: images of 12x12 with one of 8 faint glyphs at a random position, under noise and parts of other
/// glyphs.
Result<WarmTask> glyphs_task();

/// The task `dev-glyphs`: 7 other glyphs on images of 11x11, for the choice of constants only.
Result<WarmTask> dev_glyphs_task();

/// A cell of the stream.
struct CellArrival {
  mutate::Nasbench201Cell cell;
  std::optional<std::size_t> parent;  ///< Number of the cell of which it is a mutation.
};

/// Regularised evolution of cells.
///
/// It starts with 10 random cells. Each further cell is the best of 3 of the last 10, with another operation on one
/// edge. It gives no cell twice, and none without a path from input to output. It is a pure function of the seed and
/// the accuracies.
class CellEvolution {
 public:
  explicit CellEvolution(std::uint64_t seed) : rng_(Rng(seed).split("cells")) {}
  /// The next cell after the cells `before`. `accuracy` has their validation accuracies.
  CellArrival next(const std::vector<CellArrival>& before, const std::vector<double>& accuracy) const;

 private:
  Rng rng_;
};

/// Models that repeat a cell, with 4 channels and two stages. Nodes that two models share have equal ids.
class CellModels {
 public:
  /// Prepares the models for a data set. Errors: those of the published space.
  static Result<CellModels> make(const data::DataSpec& data, const graph::OpTable& ops);
  /// The model of a cell. Errors: those of the expansion.
  Result<graph::Graph> model(const mutate::Nasbench201Cell& cell, const graph::OpTable& ops) const;

 private:
  CellModels(mutate::Blueprint blueprint, mutate::ModelInterface ends)
      : blueprint_(std::move(blueprint)), ends_(std::move(ends)) {}
  mutate::Blueprint blueprint_;
  mutate::ModelInterface ends_;
};

}  // namespace lanista::bench
