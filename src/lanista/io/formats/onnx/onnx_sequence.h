#pragma once

#include "lanista/io/formats/onnx/onnx_export.h"

namespace lanista::formats::onnx {

/// Mappings of the operators for sequences.
OnnxMappings sequence_mappings();

}  // namespace lanista::formats::onnx
