#include "lanista/nn/team.h"

#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "lanista/base/check.h"
#include "lanista/kernels/kernels.h"

namespace lanista::nn {
namespace {

// A step's pieces follow each other within microseconds, less than it takes to wake a sleeper: some microseconds at the
// door, then some turns that are offered to whoever else wants the core, then sleep.
constexpr int kLooks = 100, kTurns = 100;

inline void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

struct Team::Helpers {
  // A thread's own pieces, the same in every round, so that what they work on stays in its core's caches. Who has done
  // all of its own helps the others.
  struct alignas(64) Block {
    std::atomic<std::int64_t> next{0};
    std::int64_t end = 0;
  };

  Call call = nullptr;
  const void* context = nullptr;
  std::vector<Block> blocks;
  std::atomic<std::uint64_t> round{0};  // a new one begins work
  std::atomic<int> busy{0};             // helpers that have not ended the round
  std::atomic<bool> ends{false};
  std::mutex mutex;
  std::condition_variable begun, ended;
  std::exception_ptr failure;         // under the mutex
  std::vector<std::jthread> threads;  // last: joined before the rest goes

  explicit Helpers(int size) : blocks(static_cast<std::size_t>(size)) {}
  ~Helpers() {
    {
      const std::lock_guard lock(mutex);
      ends.store(true, std::memory_order_release);
    }
    begun.notify_all();
  }

  void deal(std::int64_t pieces) {
    const auto size = static_cast<std::int64_t>(blocks.size());
    for (std::int64_t i = 0; i < size; ++i) {
      Block& block = blocks[static_cast<std::size_t>(i)];
      block.next.store(i * pieces / size, std::memory_order_relaxed);
      block.end = (i + 1) * pieces / size;
    }
  }

  void work(int thread) {
    try {
      for (std::size_t i = 0; i < blocks.size(); ++i) {
        Block& block = blocks[(static_cast<std::size_t>(thread) + i) % blocks.size()];
        for (std::int64_t piece; (piece = block.next.fetch_add(1, std::memory_order_relaxed)) < block.end;) {
          call(context, thread, piece);
        }
      }
    } catch (...) {
      for (Block& block : blocks) block.next.store(block.end, std::memory_order_relaxed);
      const std::lock_guard lock(mutex);
      failure = std::current_exception();
    }
  }

  template <class Ready>
  void wait(std::condition_variable& changed, const Ready& ready) {
    for (int turn = 0; turn < kLooks + kTurns; ++turn) {
      if (ready()) return;
      if (turn < kLooks) {
        pause_briefly();
      } else {
        std::this_thread::yield();
      }
    }
    std::unique_lock lock(mutex);
    changed.wait(lock, ready);
  }

  void serve(int thread) {
    kernels::set_flush_to_zero();
    for (std::uint64_t seen = 0;; ++seen) {
      wait(begun, [&] { return round.load(std::memory_order_acquire) > seen || ends.load(std::memory_order_acquire); });
      if (ends.load(std::memory_order_acquire)) return;
      work(thread);
      // Under the lock, so that a caller about to sleep is not missed.
      const std::lock_guard lock(mutex);
      if (busy.fetch_sub(1, std::memory_order_acq_rel) == 1) ended.notify_one();
    }
  }
};

Team::Team(int threads) : threads_(threads) {
  LANISTA_CHECK(threads >= 1, "a team has one thread at least, not " + std::to_string(threads));
  if (threads == 1) return;
  helpers_ = std::make_unique<Helpers>(threads);
  for (int thread = 1; thread < threads; ++thread) {
    helpers_->threads.emplace_back([helpers = helpers_.get(), thread] { helpers->serve(thread); });
  }
}

Team::Team(Team&&) noexcept = default;
Team& Team::operator=(Team&&) noexcept = default;

Team::~Team() = default;

void Team::run(std::int64_t pieces, Call call, const void* context) {
  if (!helpers_ || pieces < 2) {
    for (std::int64_t piece = 0; piece < pieces; ++piece) call(context, 0, piece);
    return;
  }
  Helpers& helpers = *helpers_;
  {
    const std::lock_guard lock(helpers.mutex);
    helpers.call = call;
    helpers.context = context;
    helpers.deal(pieces);
    helpers.failure = nullptr;
    helpers.busy.store(threads_ - 1, std::memory_order_relaxed);
    helpers.round.fetch_add(1, std::memory_order_release);
  }
  helpers.begun.notify_all();
  helpers.work(0);
  helpers.wait(helpers.ended, [&] { return helpers.busy.load(std::memory_order_acquire) == 0; });
  if (helpers.failure) std::rethrow_exception(std::exchange(helpers.failure, nullptr));
}

}  // namespace lanista::nn
