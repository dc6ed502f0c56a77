#include "lanista/exec/program/thread_pool.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "lanista/base/check.h"
#include "lanista/exec/kernels/kernels.h"

namespace lanista::nn {
namespace {

// Rounds follow each other within microseconds, less than it takes to wake a sleeper: a few tens of them at the door,
// then sleep. Nobody yields: two threads that meet on one core would go on handing it to each other, while a sleeper is
// woken on a core that is free. Every now and then each looks whether it is they who have met.
constexpr int kSpinIterations = 500, kCoreCheckInterval = 20;

inline void cpu_pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

/// The core that a thread was seen on; on a line of its own and written when it changes, so that reading it is cheap.
class alignas(64) LastSeenCore {
 public:
  void record_current_core() {
    const int here = ::sched_getcpu();
    if (seen_.load(std::memory_order_relaxed) != here) seen_.store(here, std::memory_order_relaxed);
  }
  /// Whether that is the calling thread's too.
  bool is_current_core() const { return seen_.load(std::memory_order_relaxed) == ::sched_getcpu(); }

 private:
  std::atomic<int> seen_{-1};
};

/// Where threads wait for something that another thread brings about.
class alignas(64) WaitPoint {
 public:
  /// Returns when `ready()`, which reads what has changed in one total order with the other side's write (seq_cst).
  /// Sleeps soon if `shares_core()`: whoever is to bring it about is on this core.
  template <class Ready, class SharesCore>
  void wait(const Ready& ready, const SharesCore& shares_core) {
    for (int spin = 1; spin <= kSpinIterations; ++spin) {
      if (ready()) return;
      if (spin % kCoreCheckInterval == 0 && shares_core()) break;
      cpu_pause();
    }
    std::unique_lock lock(mutex_);
    for (;; woken_.wait(lock)) {
      has_sleepers_.store(true);
      if (ready()) return;
    }
  }

  /// After the change. Either it sees that somebody sleeps, or who wants to sleep sees the change.
  void notify_waiters() {
    if (!has_sleepers_.load()) return;
    {
      const std::lock_guard lock(mutex_);
      has_sleepers_.store(false);
    }
    woken_.notify_all();
  }

 private:
  std::atomic<bool> has_sleepers_{false};
  std::mutex mutex_;
  std::condition_variable woken_;
};

// A round's number and its count of pieces in one word; in a block, a round's number and a piece's.
constexpr int kTaskBits = 24;
constexpr std::uint64_t kTaskMask = (std::uint64_t{1} << kTaskBits) - 1;

}  // namespace

// A round is over when all of its pieces have ended, so nobody waits for a helper that has taken none: on a busy
// machine it may not have had a core. Who comes late finds every block used up, in this round or a newer one.
struct ThreadPool::Helpers {
  // A thread's own pieces, the same in every round, so that what they work on stays in its core's caches. Who has done
  // all of its own helps the others.
  struct alignas(64) TaskBlock {
    std::atomic<std::uint64_t> next{0};  // the round of the last one taken, and the piece after it
    LastSeenCore core;                           // of its thread, as of the last round
  };

  alignas(64) std::atomic<std::uint64_t> round{0};  // a new one begins work; one without pieces ends the team
  TaskFunction call = nullptr;                              // of the round, for those who have taken a piece
  const void* context = nullptr;
  alignas(64) std::atomic<std::int64_t> ended{0};  // pieces taken by helpers, in all rounds
  LastSeenCore core;                                       // the caller's
  WaitPoint round_started, tasks_done;
  std::vector<TaskBlock> blocks;
  std::mutex mutex;
  std::exception_ptr failure;         // under the mutex
  std::vector<std::jthread> threads;  // last: joined before the rest goes

  explicit Helpers(int size) : blocks(static_cast<std::size_t>(size)) {}
  ~Helpers() { begin(0); }

  /// Lets a round of that many pieces begin; its word.
  std::uint64_t begin(std::int64_t num_tasks) {
    const std::uint64_t number = (round.load(std::memory_order_relaxed) >> kTaskBits) + 1;
    const std::uint64_t next = number << kTaskBits | static_cast<std::uint64_t>(num_tasks);
    round.store(next);
    round_started.notify_waiters();
    core.record_current_core();
    return next;
  }

  /// A piece of block `b` for whoever asks, and for nobody else; -1: none is left, or the round is over.
  std::int64_t take(std::size_t b, std::uint64_t now) {
    const auto size = static_cast<std::int64_t>(blocks.size());
    const auto num_tasks = static_cast<std::int64_t>(now & kTaskMask), i = static_cast<std::int64_t>(b);
    // Rounded up: who begins first has the odd piece, or would take it from another thread's cache round after round.
    const std::int64_t first = (i * num_tasks + size - 1) / size, end = ((i + 1) * num_tasks + size - 1) / size;
    const std::uint64_t zero = now & ~kTaskMask;
    std::atomic<std::uint64_t>& next = blocks[b].next;
    for (std::uint64_t seen = next.load(std::memory_order_acquire);;) {
      // Below zero in an older round, beyond all pieces in a newer one.
      const auto place = static_cast<std::int64_t>(seen - zero);
      const std::int64_t task = place < 0 ? first : place;
      if (task >= end) return -1;
      if (next.compare_exchange_weak(seen, zero + static_cast<std::uint64_t>(task) + 1)) return task;
    }
  }

  /// How many pieces this thread has taken. After a failure it takes what is left and leaves it undone.
  std::int64_t work(int thread, std::uint64_t now) {
    std::int64_t num_taken = 0;
    bool failed = false;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      const std::size_t block = (static_cast<std::size_t>(thread) + i) % blocks.size();
      for (std::int64_t task; (task = take(block, now)) >= 0; ++num_taken) {
        if (failed) continue;
        try {
          call(context, thread, task);
        } catch (...) {
          failed = true;
          const std::lock_guard lock(mutex);
          failure = std::current_exception();
        }
      }
    }
    return num_taken;
  }

  void serve(int thread) {
    kernels::set_flush_to_zero();
    for (std::uint64_t now = 0;;) {
      round_started.wait([&, seen = now] { return (now = round.load()) != seen; }, [this] { return core.is_current_core(); });
      if ((now & kTaskMask) == 0) return;
      const std::int64_t num_taken = work(thread, now);
      if (num_taken == 0) continue;
      ended.fetch_add(num_taken);
      tasks_done.notify_waiters();
      blocks[static_cast<std::size_t>(thread)].core.record_current_core();
    }
  }

  bool a_helper_shares_core() const {
    return std::any_of(blocks.begin(), blocks.end(), [](const TaskBlock& block) { return block.core.is_current_core(); });
  }
};

ThreadPool::ThreadPool(int threads) : threads_(threads) {
  LANISTA_CHECK(threads >= 1, "a team has one thread at least, not " + std::to_string(threads));
  if (threads == 1) return;
  helpers_ = std::make_unique<Helpers>(threads);
  for (int thread = 1; thread < threads; ++thread) {
    helpers_->threads.emplace_back([helpers = helpers_.get(), thread] { helpers->serve(thread); });
  }
}

ThreadPool::ThreadPool(ThreadPool&&) noexcept = default;
ThreadPool& ThreadPool::operator=(ThreadPool&&) noexcept = default;

ThreadPool::~ThreadPool() = default;

void ThreadPool::run(std::int64_t num_tasks, TaskFunction call, const void* context) {
  if (!helpers_ || num_tasks < 2) {
    for (std::int64_t task = 0; task < num_tasks; ++task) call(context, 0, task);
    return;
  }
  LANISTA_CHECK(num_tasks <= static_cast<std::int64_t>(kTaskMask), std::to_string(num_tasks) + " pieces for a team");
  Helpers& helpers = *helpers_;
  helpers.call = call;
  helpers.context = context;
  const std::int64_t before = helpers.ended.load(std::memory_order_relaxed);
  const std::uint64_t now = helpers.begin(num_tasks);
  const std::int64_t num_taken_by_helpers = num_tasks - helpers.work(0, now);
  helpers.tasks_done.wait([&] { return helpers.ended.load() == before + num_taken_by_helpers; },
                    [&] { return helpers.a_helper_shares_core(); });
  if (helpers.failure) std::rethrow_exception(std::exchange(helpers.failure, nullptr));
}

}  // namespace lanista::nn
