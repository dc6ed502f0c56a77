#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lanista/io/formats/cpp_export/cpp_source.h"
#include "lanista/io/formats/cpp_export/cpp_text.h"

// What emitters are written with.
namespace lanista::formats::cpp {

/// Emitters of convolutions and pools.
CppEmitters window_emitters();
/// Emitters of piecewise activations, slices, images of another size, and what works along the channels.
CppEmitters image_emitters();
/// Emitters of sequences.
CppEmitters sequence_emitters();

inline std::string text(std::int64_t number) { return std::to_string(number); }

/// A template filled with `more` and with what most ask for: the value $y, its $size, the first input $x.
std::string fill_template(std::string_view pattern, const CppNode& node, const CppValues& more = {});

/// " + n3_bias[index]" and " * n3_weight[index]", or nothing.
std::string plus_param(const CppNode& node, bool is_present, std::string_view param, std::string_view index);
std::string times_param(const CppNode& node, bool is_present, std::string_view param, std::string_view index);

}  // namespace lanista::formats::cpp
