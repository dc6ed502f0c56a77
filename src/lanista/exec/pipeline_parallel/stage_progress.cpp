#include "lanista/exec/pipeline_parallel/stage_progress.h"

#include <cstring>

namespace lanista::program {
namespace {

constexpr std::uint32_t kStopping = 1, kStopped = 2;
constexpr auto kBetweenSteps = std::chrono::milliseconds(50);

}  // namespace

StageProgress::StageProgress(std::byte* at, std::size_t stages, StageTransport* transport)
    : head_(reinterpret_cast<Head*>(at)),
      progress_(reinterpret_cast<Progress*>(at + sizeof(Head))),
      stages_(stages),
      transport_(transport) {}

std::int64_t StageProgress::bytes(std::size_t stages) {
  return static_cast<std::int64_t>(sizeof(Head) + stages * sizeof(Progress));
}

void StageProgress::reset() {
  for (std::size_t i = 0; i < stages_; ++i) {
    progress_[i].forward = 0;
    progress_[i].backward = 0;
  }
  head_->ended = 0;
  head_->stopped = 0;
}

bool StageProgress::wait_for_step(std::uint32_t& seen, const std::function<bool()>& should_stop) const {
  for (int spin = 0; spin < kSpinIterations; ++spin) {
    if (head_->step.load(std::memory_order_acquire) != seen) break;
    cpu_pause();
  }
  while (head_->step.load(std::memory_order_acquire) == seen) {
    if (should_stop()) return false;
    futex_wait(head_->step, seen, kBetweenSteps);
  }
  seen = head_->step.load(std::memory_order_acquire);
  return true;
}

void StageProgress::begin_step() const {
  head_->step.fetch_add(1);
  futex_wake_all(head_->step);
  if (transport_ != nullptr) transport_->send({.kind = StageSignal::Kind::kBegin});
}

void StageProgress::end_rank() const {
  head_->ended.fetch_add(1);
  notify_waiters();
  if (transport_ != nullptr) transport_->send({.kind = StageSignal::Kind::kEnd});
}

void StageProgress::wait_for_ranks(std::uint32_t ranks, const std::function<void()>& watch) const {
  wait_until([&] { return head_->ended.load() >= ranks; }, watch);
}

void StageProgress::publish(bool is_forward, std::uint32_t stage, std::int64_t pieces) const {
  progress_counter(is_forward, stage).store(static_cast<std::uint32_t>(pieces));
  notify_waiters();
  if (transport_ != nullptr) transport_->send({.is_forward = is_forward, .stage = stage, .pieces = pieces});
}

void StageProgress::notify_waiters() const {
  head_->changes.value.fetch_add(1);
  head_->changes.wake_waiters();
}

void StageProgress::stop(const std::string& why) const {
  std::uint32_t none = 0;
  if (!head_->stopped.compare_exchange_strong(none, kStopping)) return;
  const std::size_t size = std::min(why.size(), kMaxReasonBytes - 1);
  std::copy_n(why.data(), size, head_->reason);
  head_->reason[size] = '\0';
  head_->stopped.store(kStopped);
  notify_waiters();
  if (transport_ != nullptr) transport_->send({.kind = StageSignal::Kind::kStop, .reason = why});
}

std::string StageProgress::reason() const {
  if (head_->stopped.load() != kStopped) return {};
  return {head_->reason, ::strnlen(head_->reason, kMaxReasonBytes)};  // another process may have overwritten its end
}

}  // namespace lanista::program
