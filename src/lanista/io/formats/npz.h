#pragma once

#include <string_view>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/base/tensor.h"

namespace lanista::formats {

/// Reads a NumPy .npz archive (a zip of .npy files, stored or deflated). The tensors have the order of the archive and
/// the names of their entries without ".npy". Names are keys, never paths.
///
/// At most 1,000 entries are read. Declared sizes and kMaxCompressionRatio are checked before anything is allocated.
/// Errors: kDataLoss with the entry and the rule; kUnimplemented (encryption, other packing, entries that are no
/// arrays); kResourceExhausted for data that grow too much.
Result<std::vector<Tensor>> decode_npz(std::string_view bytes);

}  // namespace lanista::formats
