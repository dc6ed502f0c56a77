#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/base/tensor.h"

namespace lanista::formats {

/// The content of a safetensors file.
struct SafetensorsFile {
  std::vector<Tensor> tensors;                  ///< named tensors, in the order of the file
  std::map<std::string, std::string> metadata;  ///< text values by key
};

/// The bytes of a safetensors file with this content. Spaces pad the header so that the data begin at a multiple of 64.
/// Tensors keep their order. Errors: kInvalidArgument (two tensors of one name, a name "__metadata__", bytes that do
/// not fit the shape, a text that is not UTF-8, or more than decode_safetensors() reads).
Result<std::string> encode_safetensors(const SafetensorsFile& file);

/// The content of the bytes of a safetensors file, with all rules of the format checked. The header has at most 16 MiB,
/// at most 50,000 tensors and 50,000 entries of metadata. Names are unique, offsets cover the buffer without gap or
/// overlap, and shapes times element sizes do not overflow. Errors: kDataLoss with the rule; kUnimplemented for element
/// types that Tensor does not have.
Result<SafetensorsFile> decode_safetensors(std::string_view bytes);

}  // namespace lanista::formats
