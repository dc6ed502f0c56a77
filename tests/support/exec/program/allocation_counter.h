#pragma once

#include <cstdint>

namespace lanista::nn::testing {

/// Counts what the process asks of the C allocator while it lives; one at a time.
class AllocationCounter {
 public:
  /// False under a sanitizer, which has the allocator for itself.
  static bool works();

  AllocationCounter();
  ~AllocationCounter();
  AllocationCounter(const AllocationCounter&) = delete;
  AllocationCounter& operator=(const AllocationCounter&) = delete;
  std::int64_t count() const;
};

}  // namespace lanista::nn::testing
