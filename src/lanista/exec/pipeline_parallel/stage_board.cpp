#include "lanista/exec/pipeline_parallel/stage_board.h"

#include <cstring>

namespace lanista::nn {
namespace {

constexpr std::uint32_t kStopping = 1, kStopped = 2;
constexpr auto kBetweenSteps = std::chrono::milliseconds(50);

}  // namespace

StageBoard::StageBoard(std::byte* at, std::size_t stages, StageLine* line)
    : head_(reinterpret_cast<Head*>(at)),
      progress_(reinterpret_cast<Progress*>(at + sizeof(Head))),
      stages_(stages),
      line_(line) {}

std::int64_t StageBoard::bytes(std::size_t stages) {
  return static_cast<std::int64_t>(sizeof(Head) + stages * sizeof(Progress));
}

void StageBoard::reset() {
  for (std::size_t i = 0; i < stages_; ++i) {
    progress_[i].forward = 0;
    progress_[i].backward = 0;
  }
  head_->ended = 0;
  head_->stopped = 0;
}

bool StageBoard::await_step(std::uint32_t& seen, const std::function<bool()>& leaves) const {
  for (int look = 0; look < kLooks; ++look) {
    if (head_->step.load(std::memory_order_acquire) != seen) break;
    breathe();
  }
  while (head_->step.load(std::memory_order_acquire) == seen) {
    if (leaves()) return false;
    sleep_while(head_->step, seen, kBetweenSteps);
  }
  seen = head_->step.load(std::memory_order_acquire);
  return true;
}

void StageBoard::begin_step() const {
  head_->step.fetch_add(1);
  wake_all(head_->step);
  if (line_ != nullptr) line_->say({.kind = StageWord::Kind::kBegin});
}

void StageBoard::end_place() const {
  head_->ended.fetch_add(1);
  changed();
  if (line_ != nullptr) line_->say({.kind = StageWord::Kind::kEnd});
}

void StageBoard::await_ends(std::uint32_t places, const std::function<void()>& watch) const {
  wait_until([&] { return head_->ended.load() >= places; }, watch);
}

void StageBoard::tell(bool forth, std::uint32_t stage, std::int64_t pieces) const {
  word(forth, stage).store(static_cast<std::uint32_t>(pieces));
  changed();
  if (line_ != nullptr) line_->say({.forth = forth, .stage = stage, .pieces = pieces});
}

void StageBoard::changed() const {
  head_->changed.fetch_add(1);
  if (head_->sleepers.load() > 0) wake_all(head_->changed);
}

void StageBoard::stop(const std::string& why) const {
  std::uint32_t none = 0;
  if (!head_->stopped.compare_exchange_strong(none, kStopping)) return;
  const std::size_t size = std::min(why.size(), kReason - 1);
  std::copy_n(why.data(), size, head_->reason);
  head_->reason[size] = '\0';
  head_->stopped.store(kStopped);
  changed();
  if (line_ != nullptr) line_->say({.kind = StageWord::Kind::kStop, .reason = why});
}

std::string StageBoard::reason() const {
  if (head_->stopped.load() != kStopped) return {};
  return {head_->reason, ::strnlen(head_->reason, kReason)};  // another process may have written no end of it
}

}  // namespace lanista::nn
