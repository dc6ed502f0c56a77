#include "lanista/exec/program/team.h"

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
constexpr int kLooks = 500, kLooksBetween = 20;

inline void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

/// The core that a thread was seen on; on a line of its own and written when it changes, so that reading it is cheap.
class alignas(64) Core {
 public:
  void is_here() {
    const int here = ::sched_getcpu();
    if (seen_.load(std::memory_order_relaxed) != here) seen_.store(here, std::memory_order_relaxed);
  }
  /// Whether that is the calling thread's too.
  bool is_ours() const { return seen_.load(std::memory_order_relaxed) == ::sched_getcpu(); }

 private:
  std::atomic<int> seen_{-1};
};

/// Where threads wait for something that another thread brings about.
class alignas(64) Door {
 public:
  /// Returns when `ready()`, which reads what has changed in one total order with the other side's write (seq_cst).
  /// Sleeps soon if `in_the_way()`: whoever is to bring it about is on this core.
  template <class Ready, class InTheWay>
  void wait(const Ready& ready, const InTheWay& in_the_way) {
    for (int look = 1; look <= kLooks; ++look) {
      if (ready()) return;
      if (look % kLooksBetween == 0 && in_the_way()) break;
      pause_briefly();
    }
    std::unique_lock lock(mutex_);
    for (;; opened_.wait(lock)) {
      sleeps_.store(true);
      if (ready()) return;
    }
  }

  /// After the change. Either it sees that somebody sleeps, or who wants to sleep sees the change.
  void open() {
    if (!sleeps_.load()) return;
    {
      const std::lock_guard lock(mutex_);
      sleeps_.store(false);
    }
    opened_.notify_all();
  }

 private:
  std::atomic<bool> sleeps_{false};
  std::mutex mutex_;
  std::condition_variable opened_;
};

// A round's number and its count of pieces in one word; in a block, a round's number and a piece's.
constexpr int kPieceBits = 24;
constexpr std::uint64_t kPieceMask = (std::uint64_t{1} << kPieceBits) - 1;

}  // namespace

// A round is over when all of its pieces have ended, so nobody waits for a helper that has taken none: on a busy
// machine it may not have had a core. Who comes late finds every block used up, in this round or a newer one.
struct Team::Helpers {
  // A thread's own pieces, the same in every round, so that what they work on stays in its core's caches. Who has done
  // all of its own helps the others.
  struct alignas(64) Block {
    std::atomic<std::uint64_t> next{0};  // the round of the last one taken, and the piece after it
    Core core;                           // of its thread, as of the last round
  };

  alignas(64) std::atomic<std::uint64_t> round{0};  // a new one begins work; one without pieces ends the team
  Call call = nullptr;                              // of the round, for those who have taken a piece
  const void* context = nullptr;
  alignas(64) std::atomic<std::int64_t> ended{0};  // pieces taken by helpers, in all rounds
  Core core;                                       // the caller's
  Door begins, ends;
  std::vector<Block> blocks;
  std::mutex mutex;
  std::exception_ptr failure;         // under the mutex
  std::vector<std::jthread> threads;  // last: joined before the rest goes

  explicit Helpers(int size) : blocks(static_cast<std::size_t>(size)) {}
  ~Helpers() { begin(0); }

  /// Lets a round of that many pieces begin; its word.
  std::uint64_t begin(std::int64_t pieces) {
    const std::uint64_t number = (round.load(std::memory_order_relaxed) >> kPieceBits) + 1;
    const std::uint64_t next = number << kPieceBits | static_cast<std::uint64_t>(pieces);
    round.store(next);
    begins.open();
    core.is_here();
    return next;
  }

  /// A piece of block `b` for whoever asks, and for nobody else; -1: none is left, or the round is over.
  std::int64_t take(std::size_t b, std::uint64_t now) {
    const auto size = static_cast<std::int64_t>(blocks.size());
    const auto pieces = static_cast<std::int64_t>(now & kPieceMask), i = static_cast<std::int64_t>(b);
    // Rounded up: who begins first has the odd piece, or would take it from another thread's cache round after round.
    const std::int64_t first = (i * pieces + size - 1) / size, end = ((i + 1) * pieces + size - 1) / size;
    const std::uint64_t zero = now & ~kPieceMask;
    std::atomic<std::uint64_t>& next = blocks[b].next;
    for (std::uint64_t seen = next.load(std::memory_order_acquire);;) {
      // Below zero in an older round, beyond all pieces in a newer one.
      const auto place = static_cast<std::int64_t>(seen - zero);
      const std::int64_t piece = place < 0 ? first : place;
      if (piece >= end) return -1;
      if (next.compare_exchange_weak(seen, zero + static_cast<std::uint64_t>(piece) + 1)) return piece;
    }
  }

  /// How many pieces this thread has taken. After a failure it takes what is left and leaves it undone.
  std::int64_t work(int thread, std::uint64_t now) {
    std::int64_t taken = 0;
    bool failed = false;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      const std::size_t block = (static_cast<std::size_t>(thread) + i) % blocks.size();
      for (std::int64_t piece; (piece = take(block, now)) >= 0; ++taken) {
        if (failed) continue;
        try {
          call(context, thread, piece);
        } catch (...) {
          failed = true;
          const std::lock_guard lock(mutex);
          failure = std::current_exception();
        }
      }
    }
    return taken;
  }

  void serve(int thread) {
    kernels::set_flush_to_zero();
    for (std::uint64_t now = 0;;) {
      begins.wait([&, seen = now] { return (now = round.load()) != seen; }, [this] { return core.is_ours(); });
      if ((now & kPieceMask) == 0) return;
      const std::int64_t taken = work(thread, now);
      if (taken == 0) continue;
      ended.fetch_add(taken);
      ends.open();
      blocks[static_cast<std::size_t>(thread)].core.is_here();
    }
  }

  bool a_helper_is_here() const {
    return std::any_of(blocks.begin(), blocks.end(), [](const Block& block) { return block.core.is_ours(); });
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
  LANISTA_CHECK(pieces <= static_cast<std::int64_t>(kPieceMask), std::to_string(pieces) + " pieces for a team");
  Helpers& helpers = *helpers_;
  helpers.call = call;
  helpers.context = context;
  const std::int64_t before = helpers.ended.load(std::memory_order_relaxed);
  const std::uint64_t now = helpers.begin(pieces);
  const std::int64_t others = pieces - helpers.work(0, now);
  helpers.ends.wait([&] { return helpers.ended.load() == before + others; },
                    [&] { return helpers.a_helper_is_here(); });
  if (helpers.failure) std::rethrow_exception(std::exchange(helpers.failure, nullptr));
}

}  // namespace lanista::nn
