#pragma once

#include <span>
#include <vector>

#include "lanista/base/blend.h"
#include "lanista/base/tensor.h"
#include "lanista/model/graph/graph.h"

namespace lanista::formats {

/// One of several models; their predictions are blended. All members have the same raw inputs and the same number of
/// outputs. Its numbers are as in OnnxExport and CppExport. Graph and weights must outlive it.
struct BlendMember {
  const graph::Graph* graph = nullptr;                      ///< the model
  std::span<const Tensor> weights;                          ///< its parameters and buffers
  double share = 1;                                         ///< its share of the blend
  std::vector<double> mean, scale;                          ///< normalisation of its inputs
  std::vector<double> target_mean = {}, target_scale = {};  ///< unit of its targets
  std::vector<double> missing = {};                         ///< numbers in place of missing inputs
};

/// Several models that predict as one. The shares sum to 1.
struct BlendedModel {
  Blend how = Blend::kNumbers;       ///< how predictions are combined
  std::vector<BlendMember> members;  ///< the models

  /// Whether all members fill and normalise their inputs with the same numbers, so that it is done once.
  bool shares_normalization() const;
};

}  // namespace lanista::formats
