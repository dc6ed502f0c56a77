#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <ctime>

// Words in shared memory at which processes wait. Zero bytes are a word with the value zero.
namespace lanista {

/// A 32-bit number in shared memory, which several processes read, write and wait at.
using SharedWord = std::atomic<std::uint32_t>;
static_assert(SharedWord::is_always_lock_free && sizeof(SharedWord) == sizeof(std::uint32_t));

/// Waits while the number has the value `seen`: until a wake-up, or for `most`. It may also return without either.
inline void futex_wait(SharedWord& word, std::uint32_t seen, std::chrono::nanoseconds most) {
  const timespec time{most.count() / 1'000'000'000, most.count() % 1'000'000'000};
  ::syscall(SYS_futex, &word, FUTEX_WAIT, seen, &time, nullptr, 0);  // none of the private forms
}
/// Wakes all threads and processes that wait at the number.
inline void futex_wake_all(SharedWord& word) { ::syscall(SYS_futex, &word, FUTEX_WAKE, 1 << 20, nullptr, nullptr, 0); }

/// Pauses the processor for some cycles. For loops that read a shared number again and again, for some tens of
/// microseconds at most.
inline void cpu_pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace lanista
