#pragma once

#include <cstdint>
#include <string_view>

namespace lanista {

/// The floating-point type that a program computes in. tf32 and bf16 are float32, except that the operands of products
/// are rounded to fewer bits. Sums of products are float32.
enum class Precision { kFloat32, kFloat64, kTf32, kBf16 };

/// Returns the precision for a name in recipes, study files and packages; kFloat32 for any other name.
constexpr Precision precision_of(std::string_view name) {
  return name == "float64" ? Precision::kFloat64
         : name == "tf32"  ? Precision::kTf32
         : name == "bf16"  ? Precision::kBf16
                           : Precision::kFloat32;
}

/// Returns the name of a precision in recipes, study files and packages.
constexpr const char* name_of(Precision precision) {
  switch (precision) {
    case Precision::kFloat64:
      return "float64";
    case Precision::kTf32:
      return "tf32";
    case Precision::kBf16:
      return "bf16";
    case Precision::kFloat32:
      break;
  }
  return "float32";
}

/// Returns the type of values between operators and of all stored tensors: kFloat64 or kFloat32.
constexpr Precision stored(Precision precision) {
  return precision == Precision::kFloat64 ? Precision::kFloat64 : Precision::kFloat32;
}

/// Returns the bytes of one stored number: 8 or 4.
constexpr std::int64_t size_of(Precision precision) { return precision == Precision::kFloat64 ? 8 : 4; }

}  // namespace lanista
