#pragma once

#include "lanista/base/tensor.h"

// What the tensors of a trial's state are called.
namespace lanista::study {

/// Whether a tensor of a state is a parameter or a buffer of the model, known by its name: slots are called
/// "<parameter>/<slot>", what the run remembers "<of what>:<name>", and its counters "step" and "seed".
inline bool is_weight(const Tensor& tensor) {
  return tensor.name.find_first_of("/:") == std::string::npos && tensor.name != "step" && tensor.name != "seed";
}

}  // namespace lanista::study
