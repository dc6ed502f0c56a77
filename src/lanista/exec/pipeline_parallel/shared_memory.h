#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "lanista/base/descriptor.h"
#include "lanista/base/mapped_bytes.h"
#include "lanista/base/result.h"

namespace lanista::runtime {

/// Memory without a file name that several processes map, or that is private to this one. It exists as long as one of
/// them has it. The size of shared memory is sealed, so no process can shrink it under another one. Move-only.
class SharedMemory {
 public:
  SharedMemory() = default;
  /// Creates zeroed memory of `bytes` bytes and allocates its pages. Errors: kResourceExhausted.
  static Result<SharedMemory> create(std::int64_t bytes);
  /// Maps memory that process `owner_process` created, by the value of its path().
  ///
  /// `bytes` is the size that it must have. Errors: kInvalidArgument (`path` has another form or names another
  /// process), kNotFound, kFailedPrecondition (another user owns it, or its size is not sealed), kDataLoss (another
  /// size), kResourceExhausted (it cannot be mapped).
  static Result<SharedMemory> open(const std::string& path, std::int64_t bytes, pid_t owner_process);
  /// Creates zeroed memory that no other process can map. Pages that are never touched use no memory.
  ///
  /// Errors: kResourceExhausted.
  static Result<SharedMemory> create_private(std::int64_t bytes);

  std::byte* data() const { return data_.get(); }  ///< First byte; null if there is no memory.
  /// The path "/proc/PID/fd/NUMBER" by which other processes of this user map it, as long as this object exists. Not
  /// for memory of create_private(), which has no such path.
  std::string path() const;

 private:
  SharedMemory(Descriptor file, MappedBytes data) : file_(std::move(file)), data_(std::move(data)) {}
  static Result<SharedMemory> map(Descriptor file, std::int64_t bytes);

  Descriptor file_;
  MappedBytes data_;
};

}  // namespace lanista::runtime
