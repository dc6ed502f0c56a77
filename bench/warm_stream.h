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

/// What models are trained on, and how many of them.
struct WarmTask {
  std::string name;
  data::Dataset data;
  std::int64_t models = 0;
  double target = 0;  ///< validation accuracy
};
/// The embedded digits.
Result<WarmTask> digits_task();
/// 8 faint strokes at any place of 12x12 images, under noise and other strokes' pieces.
Result<WarmTask> glyphs_task();
/// Others of 11x11, to choose constants on: nobody reports what comes out.
Result<WarmTask> dev_glyphs_task();

/// A cell that was asked for, and the number of the one that it is a mutation of.
struct CellArrival {
  mutate::Nasbench201Cell cell;
  std::optional<std::size_t> parent;
};

/// Regularised evolution of cells: 10 random ones, then the best of 3 of the last 10, with another operation on one
/// edge. No cell that computes nothing, none twice. Pure: a function of seed and accuracies.
class CellEvolution {
 public:
  explicit CellEvolution(std::uint64_t seed) : rng_(Rng(seed).split("cells")) {}
  /// Of what has been told so far.
  CellArrival next(const std::vector<CellArrival>& before, const std::vector<double>& accuracy) const;

 private:
  Rng rng_;
};

/// Models of cells for a task: 4 channels, two stages. Ids of nodes that cells share are the same.
class CellModels {
 public:
  static Result<CellModels> make(const data::DataSpec& data, const graph::OpTable& ops);
  Result<graph::Graph> model(const mutate::Nasbench201Cell& cell, const graph::OpTable& ops) const;

 private:
  CellModels(mutate::Blueprint blueprint, mutate::ModelInterface ends)
      : blueprint_(std::move(blueprint)), ends_(std::move(ends)) {}
  mutate::Blueprint blueprint_;
  mutate::ModelInterface ends_;
};

}  // namespace lanista::bench
