// Replaces the C allocator of the test binary, which operator new also uses. It is a file of its own, so that the
// compiler cannot remove pairs of calls.
#include "support/exec/program/allocation_counter.h"

#include <atomic>
#include <cerrno>
#include <cstddef>

#include "support/base/sanitizer.h"

namespace {

std::atomic<bool> counting = false;
std::atomic<std::int64_t> allocations = 0;

}  // namespace

#if !LANISTA_SANITIZED

namespace {

void note() {
  if (counting.load(std::memory_order_relaxed)) allocations.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

extern "C" {

void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* memory, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);

void* malloc(std::size_t size) {
  note();
  return __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) {
  note();
  return __libc_calloc(count, size);
}
void* realloc(void* memory, std::size_t size) {
  note();
  return __libc_realloc(memory, size);
}
void* memalign(std::size_t alignment, std::size_t size) {
  note();
  return __libc_memalign(alignment, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  note();
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** memory, std::size_t alignment, std::size_t size) {
  note();
  *memory = __libc_memalign(alignment, size);
  return *memory != nullptr ? 0 : ENOMEM;
}

}  // extern "C"

bool lanista::program::testing::AllocationCounter::works() { return true; }

#else

bool lanista::program::testing::AllocationCounter::works() { return false; }

#endif

namespace lanista::program::testing {

AllocationCounter::AllocationCounter() {
  allocations = 0;
  counting = true;
}

AllocationCounter::~AllocationCounter() { counting = false; }

std::int64_t AllocationCounter::count() const { return allocations; }

}  // namespace lanista::program::testing
