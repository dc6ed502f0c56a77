#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "lanista/base/result.h"

namespace lanista {

/// Reads `length` bytes from byte `offset` of a file with an untrusted name, and returns them.
///
/// `name` is a relative path that must stay below `folder`, also where it has symbolic links. If the folder is a
/// revision in a cache of Hugging Face (CACHE/snapshots/REVISION next to CACHE/blobs), links may lead to files of that
/// cache. The file must be a regular one with no other name, since a hard link may lead anywhere. The range must be
/// inside the file. Sizes are checked before anything is allocated. Errors: kInvalidArgument for a name or file that is
/// not allowed; kNotFound for a missing file or folder; kDataLoss for a range beyond the file; kIo if the system cannot
/// read; kUnimplemented for a kernel without openat2. `where` is the path.
Result<std::vector<std::byte>> read_inside_folder(const std::string& folder, const std::string& name,
                                                  std::uint64_t offset, std::uint64_t length);

}  // namespace lanista
