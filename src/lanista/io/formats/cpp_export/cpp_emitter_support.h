#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lanista/io/formats/cpp_export/cpp_source.h"
#include "lanista/io/formats/cpp_export/cpp_text.h"

// Helpers of emitters.
namespace lanista::formats::cpp {

/// Emitters of convolutions and pools.
CppEmitters window_emitters();
/// Emitters of piecewise activations, slices, resizing of images, and operators along the channels.
CppEmitters image_emitters();
/// Emitters of sequences.
CppEmitters sequence_emitters();

/// A number as source text.
inline std::string text(std::int64_t number) { return std::to_string(number); }

/// A template with its $names filled from `more` and from the usual ones: the value $y, its $size, the first input $x.
std::string fill_template(std::string_view pattern, const CppNode& node, const CppValues& more = {});

/// " + n3_bias[index]", or an empty text if the parameter is absent.
std::string plus_param(const CppNode& node, bool is_present, std::string_view param, std::string_view index);
/// " * n3_weight[index]", or an empty text if the parameter is absent.
std::string times_param(const CppNode& node, bool is_present, std::string_view param, std::string_view index);

}  // namespace lanista::formats::cpp
