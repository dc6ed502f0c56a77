#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "lanista/base/result.h"

namespace lanista {

/// `length` bytes from `offset` of a file that a stranger's file names. `name` is a relative path that must stay
/// beneath `folder`: no "..", no symbolic link on the way, nothing but a regular file with no other name (a hard link
/// may lead anywhere), and the range lies inside of it. Sizes are checked before anything is allocated.
/// Errors: kInvalidArgument, kNotFound, kDataLoss (a range beyond the file), kIo, kUnimplemented (a kernel without
/// openat2); `where` is the path.
Result<std::vector<std::byte>> read_inside_folder(const std::string& folder, const std::string& name, std::uint64_t offset,
                                            std::uint64_t length);

}  // namespace lanista
