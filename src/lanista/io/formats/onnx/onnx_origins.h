#pragma once

#include <vector>

#include "lanista/io/formats/onnx/onnx.h"

namespace lanista::formats {

/// Numbers in double that a file subtracts from its raw input, and adds to its output. float32 would lose digits of
/// both. Each has one number for each number of a sample, or for each channel of [C, H, W]; empty: none.
struct OnnxOrigins {
  std::vector<double> input, output;
  bool operator==(const OnnxOrigins&) const = default;
};

/// Gives a float model an input in double, from which the origins are subtracted before the cast to float, and an
/// output in double, to which they are added. Without origins it changes nothing. Precondition: the model has one input
/// and one output, both float, and the sizes of the origins fit.
void add_origins(const OnnxOrigins& origins, OnnxModel& model);

/// Reverses add_origins(): removes its nodes, makes input and output float, and returns the origins. A model without
/// such nodes, with an origin that is not finite, or of another size, is left as it is.
OnnxOrigins take_origins(OnnxModel& model);

}  // namespace lanista::formats
