#include "lanista/io/formats/onnx/onnx_same.h"

namespace lanista::formats::onnx {

std::span<const SameOperator> same_operators() {
  static constexpr SameOperator kSame[] = {
      {"Relu", "relu"},
      {"Sigmoid", "sigmoid"},
      {"Softsign", "softsign"},
      {"Tanh", "tanh"},
  };
  return kSame;
}

}  // namespace lanista::formats::onnx
