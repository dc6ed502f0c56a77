// Replaces operator new of the test binary. A file of its own, so that the compiler cannot inline one half of a pair
// and then complain that the halves do not match.
#include "lanista/nn/allocation_counter.h"

#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

thread_local bool counting = false;
thread_local std::int64_t allocations = 0;

constexpr std::size_t kDefault = alignof(std::max_align_t);

void* try_allocate(std::size_t size, std::size_t alignment) noexcept {
  if (counting) ++allocations;
  return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment + alignment);
}

void* allocate(std::size_t size, std::size_t alignment) {
  void* memory = try_allocate(size, alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t size) { return allocate(size, kDefault); }
void* operator new[](std::size_t size) { return allocate(size, kDefault); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return allocate(size, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return try_allocate(size, kDefault); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return try_allocate(size, kDefault); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace lanista::nn::testing {

AllocationCounter::AllocationCounter() {
  allocations = 0;
  counting = true;
}

AllocationCounter::~AllocationCounter() { counting = false; }

std::int64_t AllocationCounter::count() const { return allocations; }

}  // namespace lanista::nn::testing
