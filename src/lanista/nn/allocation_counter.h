#pragma once

#include <cstdint>

namespace lanista::nn::testing {

/// Counts what the calling thread asks of operator new while it lives; one at a time a thread.
class AllocationCounter {
 public:
  AllocationCounter();
  ~AllocationCounter();
  AllocationCounter(const AllocationCounter&) = delete;
  AllocationCounter& operator=(const AllocationCounter&) = delete;
  std::int64_t count() const;
};

}  // namespace lanista::nn::testing
