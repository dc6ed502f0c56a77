#include "lanista/base/bad_alloc_reserve.h"

#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <atomic>
#include <cstddef>
#include <new>

namespace lanista {
namespace {

constexpr std::size_t kReserveBytes = std::size_t{2} << 20;  // malloc takes 1 MiB at a time where the heap cannot grow

// A new handler has no arguments, so it can reach only statics.
std::atomic<void*> reserve{nullptr};

[[noreturn]] void release_reserve() {
  if (void* kept = reserve.exchange(nullptr)) ::munmap(kept, kReserveBytes);
  throw std::bad_alloc();
}

}  // namespace

bool reserve_memory_for_bad_alloc() {
  // An arena of a thread reserves 64 MiB of addresses. Where they are not available, malloc asks for them at every
  // call, and a study needs a hundred times as long.
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) ::mallopt(M_ARENA_MAX, 1);
  std::set_new_handler(release_reserve);
  return refill_memory_reserve();
}

bool refill_memory_reserve() {
  if (reserve.load() != nullptr) return true;
  void* kept =
      ::mmap(nullptr, kReserveBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (kept == MAP_FAILED) return false;
  void* none = nullptr;
  if (!reserve.compare_exchange_strong(none, kept)) ::munmap(kept, kReserveBytes);
  return true;
}

}  // namespace lanista
