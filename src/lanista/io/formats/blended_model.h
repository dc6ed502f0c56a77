#pragma once

#include <span>
#include <vector>

#include "lanista/base/blend.h"
#include "lanista/base/tensor.h"
#include "lanista/model/graph/graph.h"

namespace lanista::formats {

/// One of several models of which the predictions are blended. All members have raw inputs of one shape and the same
/// number of outputs. Graph and weights must outlive it.
struct BlendMember {
  const graph::Graph* graph = nullptr;  ///< graph of the model; not null
  std::span<const Tensor> weights;      ///< parameters and buffers, found by name (float_weights())
  double share = 1;                     ///< weight in the blend
  /// normalisation of inputs, one entry for all, for each channel of [C, H, W], or for each feature; empty: none
  std::vector<double> mean, scale;
  /// unit of the targets, one entry for each output, which becomes output * scale + mean; empty: unchanged
  std::vector<double> target_mean = {}, target_scale = {};
  std::vector<double> missing = {};  ///< number that replaces NaN, one for each feature; empty: none
};

/// Several models that predict as one. The shares of the members sum to 1.
struct BlendedModel {
  Blend how = Blend::kNumbers;       ///< how predictions are combined: as numbers, classes or labels
  std::vector<BlendMember> members;  ///< the models, at least one

  /// True means that all members have equal `mean`, `scale` and `missing`, so that inputs are prepared once for all.
  bool shares_normalization() const;
};

}  // namespace lanista::formats
