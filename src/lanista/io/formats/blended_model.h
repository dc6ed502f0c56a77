#pragma once

#include <span>
#include <vector>

#include "lanista/base/blend.h"
#include "lanista/base/tensor.h"
#include "lanista/model/graph/graph.h"

namespace lanista::formats {

/// One of several models whose predictions become one; all take the same raw numbers and give as many. Its units as in
/// OnnxExport and CppExport; graph and weights outlive this.
struct BlendMember {
  const graph::Graph* graph = nullptr;
  std::span<const Tensor> weights;
  double share = 1;  ///< of the blend
  std::vector<double> mean, scale;
  std::vector<double> target_mean = {}, target_scale = {};
  std::vector<double> missing = {};
};

/// Several models as one. Shares sum to 1.
struct BlendedModel {
  Blend how = Blend::kNumbers;
  std::vector<BlendMember> members;

  /// Whether all members fill and normalise their input by the same numbers: then it is done once.
  bool shares_normalization() const;
};

}  // namespace lanista::formats
