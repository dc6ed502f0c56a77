#pragma once

#include "lanista/io/formats/onnx/onnx_export.h"

namespace lanista::formats::onnx {

/// Convolutions and pools.
OnnxMappings window_mappings();
/// Piecewise activations, slices, images of another size, and what works along the channels.
OnnxMappings image_mappings();

}  // namespace lanista::formats::onnx
