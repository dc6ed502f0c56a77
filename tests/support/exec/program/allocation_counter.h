#pragma once

#include <cstdint>

namespace lanista::program::testing {

/// Counts the calls of the process to the C allocator while the object exists. One object at a time.
class AllocationCounter {
 public:
  /// False under a sanitizer, which replaces the allocator.
  static bool works();

  AllocationCounter();
  ~AllocationCounter();
  AllocationCounter(const AllocationCounter&) = delete;
  AllocationCounter& operator=(const AllocationCounter&) = delete;
  std::int64_t count() const;
};

}  // namespace lanista::program::testing
