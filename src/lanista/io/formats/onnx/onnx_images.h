#pragma once

#include "lanista/io/formats/onnx/onnx_export.h"

namespace lanista::formats::onnx {

/// The mappings by which the ONNX export writes convolutions and pools.
OnnxMappings window_mappings();
/// The mappings by which the ONNX export writes piecewise activations, slices, resizing of images, and operators along
/// the channels.
OnnxMappings image_mappings();

}  // namespace lanista::formats::onnx
