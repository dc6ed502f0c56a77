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
#include "lanista/base/futex.h"
#include "lanista/exec/kernels/kernels.h"

namespace lanista::program {
namespace {

// Rounds follow each other within microseconds, less than the time to wake a thread. So idle threads spin for some tens
// of microseconds, then sleep. They do not yield: two threads on one core would pass it to each other, while a sleeping
// thread wakes on a free core. Regularly each thread checks whether it shares a core.
constexpr int kSpinIterations = 500, kCoreCheckInterval = 20;

/// The core on which a thread last ran. It has a cache line of its own and is written only on change.
class alignas(64) LastSeenCore {
 public:
  void record_current_core() {
    const int here = ::sched_getcpu();
    if (seen_.load(std::memory_order_relaxed) != here) seen_.store(here, std::memory_order_relaxed);
  }
  /// Whether the calling thread runs on that core.
  bool is_current_core() const { return seen_.load(std::memory_order_relaxed) == ::sched_getcpu(); }

 private:
  std::atomic<int> seen_{-1};
};

/// A point at which threads wait for a change by another thread.
class alignas(64) WaitPoint {
 public:
  /// Returns when `ready()` is true. `ready` reads the change in one total order (seq_cst) with its write. Sleeps early
  /// if `shares_core()`: the thread that makes the change is on this core.
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

  /// Call it after the change. Either it sees a sleeping thread, or that thread sees the change.
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

// One word holds a round's number and its number of tasks; in a block, a round's number and a task's.
constexpr int kTaskBits = 24;
constexpr std::uint64_t kTaskMask = (std::uint64_t{1} << kTaskBits) - 1;

}  // namespace

// A round is over when all its tasks have ended, so no thread waits for a helper without a task: on a busy machine it
// may have no core. A late helper finds all blocks empty, in this round or a newer one.
struct ThreadPool::Helpers {
  // The tasks of one thread, the same in every round, so that their data stays in its core's caches. A thread that has
  // done all of its own helps the others.
  struct alignas(64) TaskBlock {
    std::atomic<std::uint64_t> next{0};  // round of the last task taken, and the task after it
    LastSeenCore core;                   // of its thread in the last round
  };

  alignas(64) std::atomic<std::uint64_t> round{0};  // a new one starts work; one without tasks ends the threads
  TaskFunction call = nullptr;                      // of the round, for threads with a task
  const void* context = nullptr;
  alignas(64) std::atomic<std::int64_t> ended{0};  // tasks ended by helpers in all rounds
  LastSeenCore core;                               // of the caller
  WaitPoint round_started, tasks_done;
  std::vector<TaskBlock> blocks;
  std::mutex mutex;
  std::exception_ptr failure;         // protected by the mutex
  std::vector<std::jthread> threads;  // must be the last member

  explicit Helpers(int size) : blocks(static_cast<std::size_t>(size)) {}
  ~Helpers() { begin(0); }

  /// Starts a round with that many tasks and returns its word.
  std::uint64_t begin(std::int64_t num_tasks) {
    const std::uint64_t number = (round.load(std::memory_order_relaxed) >> kTaskBits) + 1;
    const std::uint64_t next = number << kTaskBits | static_cast<std::uint64_t>(num_tasks);
    round.store(next);
    round_started.notify_waiters();
    core.record_current_core();
    return next;
  }

  /// Takes a task of block `b`, which no other thread gets. Returns -1 if none is left, or if the round is over.
  std::int64_t take(std::size_t b, std::uint64_t now) {
    const auto size = static_cast<std::int64_t>(blocks.size());
    const auto num_tasks = static_cast<std::int64_t>(now & kTaskMask), i = static_cast<std::int64_t>(b);
    // Rounded up: the caller, which starts first, gets the odd task. It would otherwise move between caches every
    // round.
    const std::int64_t first = (i * num_tasks + size - 1) / size, end = ((i + 1) * num_tasks + size - 1) / size;
    const std::uint64_t zero = now & ~kTaskMask;
    std::atomic<std::uint64_t>& next = blocks[b].next;
    for (std::uint64_t seen = next.load(std::memory_order_acquire);;) {
      // Negative in an older round, beyond all tasks in a newer one.
      const auto place = static_cast<std::int64_t>(seen - zero);
      const std::int64_t task = place < 0 ? first : place;
      if (task >= end) return -1;
      if (next.compare_exchange_weak(seen, zero + static_cast<std::uint64_t>(task) + 1)) return task;
    }
  }

  /// Runs tasks and returns how many this thread took. After a failure it takes the rest without running them.
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
      round_started.wait([&, seen = now] { return (now = round.load()) != seen; },
                         [this] { return core.is_current_core(); });
      if ((now & kTaskMask) == 0) return;
      const std::int64_t num_taken = work(thread, now);
      if (num_taken == 0) continue;
      ended.fetch_add(num_taken);
      tasks_done.notify_waiters();
      blocks[static_cast<std::size_t>(thread)].core.record_current_core();
    }
  }

  bool a_helper_shares_core() const {
    return std::any_of(blocks.begin(), blocks.end(),
                       [](const TaskBlock& block) { return block.core.is_current_core(); });
  }
};

ThreadPool::ThreadPool(int threads) : threads_(threads) {
  LANISTA_CHECK(threads >= 1, "a pool needs at least one thread, not " + std::to_string(threads));
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
  LANISTA_CHECK(num_tasks <= static_cast<std::int64_t>(kTaskMask), std::to_string(num_tasks) + " tasks for a pool");
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

}  // namespace lanista::program
