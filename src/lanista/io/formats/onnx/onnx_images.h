#pragma once

#include "lanista/io/formats/onnx/onnx_export.h"

namespace lanista::formats::onnx {

/// The ONNX mappings of convolutions and pools.
OnnxMappings window_mappings();
/// The ONNX mappings of piecewise activations, slices, resizing of images, and operators along the channels.
OnnxMappings image_mappings();

}  // namespace lanista::formats::onnx
