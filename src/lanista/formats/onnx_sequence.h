#pragma once

#include "lanista/formats/onnx_export.h"

namespace lanista::formats::onnx {

/// The operators of graph/ops/sequence.cpp.
OnnxMappings sequence_mappings();

}  // namespace lanista::formats::onnx
