#pragma once

#include "lanista/io/formats/onnx/onnx_export.h"

namespace lanista::formats::onnx {

/// The operators of graph/ops/sequence.cpp.
OnnxMappings sequence_mappings();

}  // namespace lanista::formats::onnx
