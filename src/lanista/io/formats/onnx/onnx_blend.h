#pragma once

#include <span>
#include <string>

#include "lanista/base/blend.h"
#include "lanista/io/formats/onnx/onnx.h"

// How the outputs of several models become one, in ONNX's words.
namespace lanista::formats {

/// "m1.": what names of the member's values begin with.
std::string blend_prefix(std::size_t member);

/// Adds the nodes and constants that make `output` of the members' `values`; names begin with "blend.". Loses no
/// probability that is too small for a float.
void add_blend(Blend how, std::span<const std::string> values, std::span<const double> shares,
               const std::string& output, OnnxModel& model);

}  // namespace lanista::formats
