#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "lanista/base/futex.h"

namespace lanista::nn {

/// What a place tells others of a step.
struct StageSignal {
  enum class Kind : std::uint8_t { kProgress, kBegin, kEnd, kStop };
  Kind kind = Kind::kProgress;
  bool is_forward = true;
  std::uint32_t stage = 0;
  std::int64_t pieces = 0;
  std::string reason = {};  ///< of a stop
  bool operator==(const StageSignal&) const = default;
};

/// To places that do not see this one's memory. Whoever hears a word has all that its speaker had said or heard before,
/// as far as it is for that place.
class StageTransport {
 public:
  virtual ~StageTransport() = default;
  /// To all that it is of use to.
  virtual void send(const StageSignal& progress_counter) = 0;
  /// The memory of that place has these bytes from `at` on.
  virtual void write(std::uint32_t rank, std::int64_t at, std::span<const std::byte> bytes) = 0;
};

/// How far each stage of a step is, told and waited for in memory that all places see, be they threads of a process or
/// processes; with a line, places that do not see it are told too. Zeros are a good beginning. A view: the memory is
/// the caller's, of `bytes`, aligned to 64.
class StageProgress {
 public:
  struct Stopped {};  ///< another place has failed, or is gone

  StageProgress() = default;
  StageProgress(std::byte* at, std::size_t stages, StageTransport* transport = nullptr);
  static std::int64_t bytes(std::size_t stages);

  /// All stages stand at the beginning. Nobody is at work.
  void reset();
  /// Processes wait for the next step; `should_stop` is asked now and then. False: it left.
  bool wait_for_step(std::uint32_t& seen, const std::function<bool()>& should_stop) const;
  void begin_step() const;
  /// A place has ended its list, or has left it.
  void end_rank() const;
  void wait_for_ranks(std::uint32_t ranks, const std::function<void()>& watch) const;

  /// A stage has done so many pieces of the batch, forth or back.
  void publish(bool is_forward, std::uint32_t stage, std::int64_t pieces) const;
  bool has_reached(bool is_forward, std::uint32_t stage, std::int64_t pieces) const {
    return progress_counter(is_forward, stage).load(std::memory_order_acquire) >= pieces;
  }
  /// Until `ready` holds; `watch`, which may be none and may throw, is called now and then. Throws Stopped.
  template <class Ready>
  void wait_for(const Ready& ready, const std::function<void()>& watch) const {
    wait_until([&] { return head_->stopped.load() != 0 || ready(); }, watch);
    if (head_->stopped.load() != 0) throw Stopped{};
  }

  /// Nobody waits any longer in this step. Only the first one's reason is kept.
  void stop(const std::string& why) const;
  bool is_stopped() const { return head_->stopped.load() != 0; }
  std::string reason() const;

 private:
  static constexpr int kSpinIterations = 400;  // some ten microseconds: longer than neighbours lag behind
  static constexpr auto kFutexTimeout = std::chrono::milliseconds(2);
  static constexpr std::size_t kMaxReasonBytes = 256;
  struct alignas(64) Head {
    SharedWord step;
    alignas(64) SharedWord notify_waiters;
    SharedWord waiters, stopped, ended;
    char reason[kMaxReasonBytes];
  };
  struct alignas(64) Progress {
    SharedWord forward, backward;  // pieces
  };

  SharedWord& progress_counter(bool is_forward, std::uint32_t stage) const {
    return is_forward ? progress_[stage].forward : progress_[stage].backward;
  }
  void notify_waiters() const;
  template <class Ready>
  void wait_until(const Ready& ready, const std::function<void()>& watch) const {
    for (int spin = 0; spin < kSpinIterations; ++spin) {
      if (ready()) return;
      cpu_pause();
    }
    while (true) {
      head_->waiters.fetch_add(1);
      const std::uint32_t seen = head_->notify_waiters.load();
      if (!ready()) futex_wait(head_->notify_waiters, seen, kFutexTimeout);
      head_->waiters.fetch_sub(1);
      if (ready()) return;
      if (watch) watch();
    }
  }

  Head* head_ = nullptr;
  Progress* progress_ = nullptr;  // of each stage
  std::size_t stages_ = 0;
  StageTransport* transport_ = nullptr;
};

}  // namespace lanista::nn
