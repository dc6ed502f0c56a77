#pragma once

#include <string_view>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/base/tensor.h"

namespace lanista::formats {

/// Reads a NumPy .npz archive (zip of .npy files, stored or deflated): tensors in the order of the archive, named by
/// their entries without ".npy". Names are keys, never paths. At most 1,000 entries; declared sizes and
/// kMaxCompressionRatio are checked before anything is allocated. Errors: kDataLoss naming the entry and the rule;
/// kUnimplemented (encryption, other packing, entries that are no arrays); kResourceExhausted for bombs.
Result<std::vector<Tensor>> decode_npz(std::string_view bytes);

}  // namespace lanista::formats
