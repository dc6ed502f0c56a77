#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "lanista/base/result.h"

namespace lanista::formats {

enum class CifarKind {
  k10,   ///< records of label, pixels
  k100,  ///< records of coarse label, fine label, pixels
};

struct CifarFile {
  std::vector<std::uint8_t> pixels;  ///< [rows, 3, 32, 32]
  std::vector<std::uint8_t> labels;  ///< [rows]; the fine ones of CIFAR-100
  std::vector<std::uint8_t> coarse;  ///< [rows], or empty
};

/// Reads a binary CIFAR batch. Errors: kDataLoss (empty, not whole records, a label out of range: which record).
Result<CifarFile> decode_cifar(std::string_view bytes, CifarKind kind);

}  // namespace lanista::formats
