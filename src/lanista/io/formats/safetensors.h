#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/base/tensor.h"

namespace lanista::formats {

struct SafetensorsFile {
  std::vector<Tensor> tensors;
  std::map<std::string, std::string> metadata;
};

/// The bytes of a file: header padded with spaces so that data begins at a multiple of 64; tensors in the given order.
/// Errors: kInvalidArgument (two tensors of one name, a name "__metadata__", bytes that do not fit the shape).
Result<std::string> encode_safetensors(const SafetensorsFile& file);

/// Reads under the format's rules in full: header at most 16 MiB, at most 50,000 tensors and as many entries of
/// metadata, unique names, offsets that tile the buffer without hole or overlap, shape times element size without
/// overflow. Errors: kDataLoss naming the rule; kUnimplemented for element types we do not hold.
Result<SafetensorsFile> decode_safetensors(std::string_view bytes);

}  // namespace lanista::formats
