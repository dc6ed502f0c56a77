#pragma once

#include <cstdint>
#include <string_view>

namespace lanista {

/// The floating-point type that a program computes in.
enum class Precision { kFloat32, kFloat64 };

/// From its name in recipes, study files and packages: "float64", else float32.
constexpr Precision precision_of(std::string_view name) {
  return name == "float64" ? Precision::kFloat64 : Precision::kFloat32;
}

constexpr const char* name_of(Precision precision) { return precision == Precision::kFloat64 ? "float64" : "float32"; }

/// Bytes of a number.
constexpr std::int64_t size_of(Precision precision) { return precision == Precision::kFloat64 ? 8 : 4; }

}  // namespace lanista
