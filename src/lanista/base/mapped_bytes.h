#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace lanista {

/// Removes the mapping of `bytes` bytes from this process.
struct Unmap {
  std::int64_t bytes = 0;
  void operator()(std::byte* at) const { ::munmap(at, static_cast<std::size_t>(bytes)); }
};
/// Memory that is mapped as long as this object exists, or none (null). Move-only.
using MappedBytes = std::unique_ptr<std::byte, Unmap>;

/// Maps the first `bytes` bytes of an open file to read and write, or new memory if `flags` has MAP_ANONYMOUS. By
/// default all processes that map the file share the bytes. Null: `errno` has the reason.
inline MappedBytes map_bytes(int file, std::int64_t bytes, int flags = MAP_SHARED) {
  void* const at = ::mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE, flags, file, 0);
  return {at == MAP_FAILED ? nullptr : static_cast<std::byte*>(at), Unmap{bytes}};
}

}  // namespace lanista
