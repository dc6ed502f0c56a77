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

/// A number in shared memory at which threads and processes wait for a change, and how many of them sleep. Zero bytes
/// are valid.
struct WaitableWord {
  SharedWord value;    ///< Any change of it ends a sleep, if wake_waiters() follows.
  SharedWord waiters;  ///< Number of threads that sleep, or are about to.

  /// Wakes all that sleep, without a system call if there are none. Call it after `value` has changed.
  void wake_waiters() {
    if (waiters.load() > 0) futex_wake_all(value);
  }
  /// Waits until `ready()` returns true. Evaluates it `spins` times, then sleeps for at most `most` between
  /// evaluations.
  ///
  /// What `ready` reads must be written before `value` changes. `watch()` is called after each sleep and may throw.
  template <class Ready, class Watch>
  void wait(int spins, std::chrono::nanoseconds most, const Ready& ready, const Watch& watch) {
    for (int spin = 0; spin < spins; ++spin) {
      if (ready()) return;
      cpu_pause();
    }
    while (true) {
      waiters.fetch_add(1);
      const std::uint32_t seen = value.load();
      if (!ready()) futex_wait(value, seen, most);
      waiters.fetch_sub(1);
      if (ready()) return;
      watch();
    }
  }
};

}  // namespace lanista
