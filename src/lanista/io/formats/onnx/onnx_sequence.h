#pragma once

#include "lanista/io/formats/onnx/onnx_export.h"

namespace lanista::formats::onnx {

/// The ONNX mappings of operators on sequences, by operator name.
OnnxMappings sequence_mappings();

}  // namespace lanista::formats::onnx
