#pragma once

#include <span>
#include <string>

#include "lanista/base/blend.h"
#include "lanista/io/formats/onnx/onnx.h"

// The blend of several models as ONNX nodes.
namespace lanista::formats {

/// The prefix of the names of a member's values: "m1.".
std::string blend_prefix(std::size_t member);

/// Adds the nodes and constants that compute `output` from the members' `values`. Their names begin with "blend.". It
/// keeps probabilities that are too small for a float.
void add_blend(Blend how, std::span<const std::string> values, std::span<const double> shares,
               const std::string& output, OnnxModel& model);

}  // namespace lanista::formats
