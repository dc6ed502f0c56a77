#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "lanista/base/result.h"

namespace lanista::runtime {

/// Memory that processes share as long as one of them has it; nothing of it is left behind. Its size is sealed, so no
/// process that has it can make it smaller under another one. Move-only.
class SharedMemory {
 public:
  SharedMemory() = default;
  /// Zeros. Errors: kResourceExhausted.
  static Result<SharedMemory> create(std::int64_t bytes);
  /// Memory that process `owner_process` has made; `path` is what path() gives there. Errors: kInvalidArgument (another form of
  /// path, or of another process), kNotFound, kFailedPrecondition (another owner, or no sealed memory), kDataLoss
  /// (another size), kResourceExhausted.
  static Result<SharedMemory> open(const std::string& path, std::int64_t bytes, pid_t owner_process);
  /// Zeros that no other process sees. What is never touched takes nothing. Errors: kResourceExhausted.
  static Result<SharedMemory> create_private(std::int64_t bytes);
  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&& other) noexcept;
  ~SharedMemory();

  std::byte* data() const { return data_; }  ///< null: there is none
  /// By which other processes of this user find it, as long as this one lives.
  std::string path() const;

 private:
  SharedMemory(int file, std::byte* data, std::int64_t bytes) : file_(file), data_(data), bytes_(bytes) {}
  static Result<SharedMemory> map(int file, std::int64_t bytes);

  int file_ = -1;
  std::byte* data_ = nullptr;
  std::int64_t bytes_ = 0;
};

}  // namespace lanista::runtime
