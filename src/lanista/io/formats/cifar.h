#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "lanista/base/result.h"

namespace lanista::formats {

/// The two binary formats of CIFAR files.
enum class CifarKind {
  k10,   ///< CIFAR-10: records of label, pixels
  k100,  ///< CIFAR-100: records of coarse label, fine label, pixels
};

/// The content of a binary CIFAR file.
struct CifarFile {
  std::vector<std::uint8_t> pixels;  ///< [rows, 3, 32, 32], channels red, green, blue
  std::vector<std::uint8_t> labels;  ///< [rows], class numbers; of CIFAR-100 the fine ones
  std::vector<std::uint8_t> coarse;  ///< [rows], the coarse labels of CIFAR-100; else empty
};

/// The content of the bytes of a binary CIFAR file. Errors: kDataLoss (an empty file, a partial record, a label out of
/// range with its record).
Result<CifarFile> decode_cifar(std::string_view bytes, CifarKind kind);

}  // namespace lanista::formats
