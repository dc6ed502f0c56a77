#pragma once

#include <string_view>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/base/tensor.h"

namespace lanista::formats {

/// The arrays in the bytes of a NumPy .npz archive (a zip of .npy files, stored or deflated), in its order. Their names
/// are those of the entries without ".npy", and are never used as paths.
///
/// Declared sizes are checked before anything is allocated. Errors: kDataLoss with the entry and the rule;
/// kUnimplemented (encryption, other packing, entries that are no arrays); kResourceExhausted (more than 1,000 entries,
/// or data above unpack_limit()).
Result<std::vector<Tensor>> decode_npz(std::string_view bytes);

}  // namespace lanista::formats
