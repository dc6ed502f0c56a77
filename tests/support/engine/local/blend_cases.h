#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lanista/base/tensor.h"
#include "lanista/io/formats/blended_model.h"
#include "support/engine/local/onnx_cases.h"

namespace lanista::runtime::testing {

/// Several models with random weights as one, and a batch of raw numbers.
struct BlendCase {
  std::string name;
  Blend how = Blend::kNumbers;
  std::vector<OnnxCase> members;  ///< each with its own mean, scale, missing and unit of targets in its options
  std::vector<double> shares;
  Tensor x;

  formats::BlendedModel blended() const;  ///< refers to this
};

/// Two to four drawn models of each kind of blend, over rows, images and token numbers; normalised by the same numbers,
/// each by its own, or not at all; some with missing numbers, filled in by all alike or by each in its own way.
std::vector<BlendCase> blend_cases(std::uint64_t count);

/// What the blend is by definition, from what nn computes of each member: float32 of numbers in long double.
Tensor predict(const BlendCase& one);

}  // namespace lanista::runtime::testing
