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
  std::vector<OnnxCase> members;  ///< Each with its own mean, scale, missing and unit of targets in its options.
  std::vector<double> shares;
  Tensor x;

  formats::BlendedModel blended() const;  ///< A view of this case.
};

/// Random blends of two to four models of each kind, on rows, images and token numbers. Members share one
/// normalisation, have their own, or none. Some have missing values, filled in equally or by each member in its own
/// way.
std::vector<BlendCase> blend_cases(std::uint64_t count);

/// The blend by its definition, from the program's outputs of each member: computed in long double, as float32.
Tensor predict(const BlendCase& one);

}  // namespace lanista::runtime::testing
