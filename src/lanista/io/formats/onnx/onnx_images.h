#pragma once

#include "lanista/io/formats/onnx/onnx_export.h"

namespace lanista::formats::onnx {

/// Mappings of convolutions and pools.
OnnxMappings window_mappings();
/// Mappings of piecewise activations, slices, resizing of images, and operators along the channels.
OnnxMappings image_mappings();

}  // namespace lanista::formats::onnx
