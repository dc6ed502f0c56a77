#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lanista/io/formats/cpp_export/cpp_source.h"
#include "lanista/io/formats/cpp_export/cpp_text.h"

// Helpers of emitters.
namespace lanista::formats::cpp {

/// Emitters of convolutions and pools, by operator name.
CppEmitters window_emitters();
/// Emitters of slices, resizing of images, and operators along the channels, by operator name.
CppEmitters image_emitters();
/// Emitters of embedding, positional_embedding, scale_by, causal_mask and attention, by operator name.
CppEmitters sequence_emitters();

/// A number in decimal digits.
inline std::string text(std::int64_t number) { return std::to_string(number); }

/// `pattern` with each $name replaced: from `more`, or $y (name of the node's value), $size (number of its elements for
/// one sample), $x (name of the first input). An unknown name throws InternalError.
std::string fill_template(std::string_view pattern, const CppNode& node, const CppValues& more = {});

/// The C++ text " + n3_bias[index]" for node 3 and parameter "bias"; empty unless `is_present`.
std::string plus_param(const CppNode& node, bool is_present, std::string_view param, std::string_view index);
/// The C++ text " * n3_weight[index]" for node 3 and parameter "weight"; empty unless `is_present`.
std::string times_param(const CppNode& node, bool is_present, std::string_view param, std::string_view index);

}  // namespace lanista::formats::cpp
