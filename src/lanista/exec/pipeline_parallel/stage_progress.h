#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "lanista/base/futex.h"

namespace lanista::program {

/// A message between the ranks of one step.
struct StageSignal {
  /// Progress of a stage, begin of a step, end of a rank's list of passes, or stop after a failure.
  enum class Kind : std::uint8_t { kProgress, kBegin, kEnd, kStop };
  Kind kind = Kind::kProgress;  ///< What the message reports.
  bool is_forward = true;       ///< kProgress: true for forward, false for backward passes.
  std::uint32_t stage = 0;      ///< kProgress: index of the stage.
  std::int64_t pieces = 0;      ///< kProgress: number of pieces of the batch that are done, counted from the first.
  std::string reason = {};      ///< kStop: the failure, a text for people.
  bool operator==(const StageSignal&) const = default;
};

/// The channel from a rank to ranks with separate memory. Messages arrive in order: when a receiver gets a signal, it
/// has all earlier bytes and signals that are for it.
class StageTransport {
 public:
  virtual ~StageTransport() = default;
  /// Sends a signal to all ranks that need it: kEnd to rank 0, the others to all.
  virtual void send(const StageSignal& progress_counter) = 0;
  /// Writes bytes to offset `at` (from the begin of the step memory) of the memory of rank `rank`.
  virtual void write(std::uint32_t rank, std::int64_t at, std::span<const std::byte> bytes) = 0;
};

/// The progress of all stages of a step, in memory that all ranks share, threads or processes.
///
/// Ranks publish their progress and wait for that of others. With a transport, ranks with separate memory are informed
/// too. Zeroed memory is a valid beginning. A view: the caller owns the memory, of bytes(), aligned to 64.
class StageProgress {
 public:
  /// The exception that ends a wait: a rank has stopped the step, or this rank has to leave it.
  struct Stopped {};

  StageProgress() = default;
  /// `at` is the memory, `stages` the number of stages; `transport` is null if all ranks share the memory.
  StageProgress(std::byte* at, std::size_t stages, StageTransport* transport = nullptr);
  /// Bytes of the memory for `stages` stages.
  static std::int64_t bytes(std::size_t stages);

  /// Sets all stages to no progress, for the next step, and removes a stop() and the counts of end_rank(). No rank may
  /// be running.
  void reset();
  /// Waits until the step counter differs from `seen`, stores the counter in `seen`, and returns true. Returns false if
  /// `should_stop`, which is called regularly, returns true.
  bool wait_for_step(std::uint32_t& seen, const std::function<bool()>& should_stop) const;
  /// Starts a step: increases the step counter and wakes the ranks that wait for it.
  void begin_step() const;
  /// Counts this rank as done with its list of passes, finished or failed.
  void end_rank() const;
  /// Waits until `ranks` ranks are done with the step (end_rank). `watch` is called regularly and may throw.
  void wait_for_ranks(std::uint32_t ranks, const std::function<void()>& watch) const;

  /// Publishes that a stage has done the first `pieces` pieces of the batch, in forward or backward passes, and wakes
  /// waiting ranks.
  void publish(bool is_forward, std::uint32_t stage, std::int64_t pieces) const;
  /// True if a stage has done at least `pieces` pieces of the batch, in forward or backward passes.
  bool has_reached(bool is_forward, std::uint32_t stage, std::int64_t pieces) const {
    return progress_counter(is_forward, stage).load(std::memory_order_acquire) >= pieces;
  }
  /// Waits until `ready` returns true. `watch`, if set, is called regularly and may throw. Throws Stopped if the step
  /// was stopped.
  template <class Ready>
  void wait_for(const Ready& ready, const std::function<void()>& watch) const {
    wait_until([&] { return head_->stopped.load() != 0 || ready(); }, watch);
    if (head_->stopped.load() != 0) throw Stopped{};
  }

  /// Stops the step: wait_for throws Stopped in all ranks. Only the first reason is kept, cut to 255 bytes.
  void stop(const std::string& why) const;
  /// True if stop() was called in this step.
  bool is_stopped() const { return head_->stopped.load() != 0; }
  /// The reason of the first stop(), at most 255 bytes; empty if the step was not stopped.
  std::string reason() const;

 private:
  static constexpr int kSpinIterations = 400;  // some 10 microseconds: longer than ranks usually wait for each other
  static constexpr auto kFutexTimeout = std::chrono::milliseconds(2);
  static constexpr std::size_t kMaxReasonBytes = 256;
  struct alignas(64) Head {
    SharedWord step;
    alignas(64) WaitableWord changes;  // counts what ranks wait for
    SharedWord stopped, ended;
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
    head_->changes.wait(kSpinIterations, kFutexTimeout, ready, [&] {
      if (watch) watch();
    });
  }

  Head* head_ = nullptr;
  Progress* progress_ = nullptr;  // one a stage
  std::size_t stages_ = 0;
  StageTransport* transport_ = nullptr;
};

}  // namespace lanista::program
