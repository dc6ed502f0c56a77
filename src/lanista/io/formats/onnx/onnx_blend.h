#pragma once

#include <span>
#include <string>

#include "lanista/base/blend.h"
#include "lanista/io/formats/onnx/onnx.h"

// The blend of several models as ONNX nodes.
namespace lanista::formats {

/// The prefix of all names of a member of a blend: "m1." for `member` 0.
std::string blend_prefix(std::size_t member);

/// Adds nodes and constants to `model` that compute the value `output` from the outputs of the members, named `values`.
/// `shares` has the weight of each, with the sum 1. New names begin with "blend.". Classes and labels are blended in
/// logarithms, so that probabilities too small for a float are kept.
void add_blend(Blend how, std::span<const std::string> values, std::span<const double> shares,
               const std::string& output, OnnxModel& model);

}  // namespace lanista::formats
