#include "lanista/exec/train/data_parallel_rounds.h"

#include <chrono>
#include <optional>
#include <string>

namespace lanista::train::data_parallel {
namespace {

constexpr int kSpinIterations = 1000;  // some tens of microseconds: longer than ranks usually wait
constexpr auto kFutexTimeout = std::chrono::milliseconds(2);  // between checks whether a silent rank lives
constexpr auto kPeerTimeout = std::chrono::seconds(20);       // for a rank that lives and sends nothing

}  // namespace

RankRounds::RankRounds(SharedRegion& region, const EpochTerms& terms, std::int64_t rank)
    : ShardCommunicator(rank, terms.width),
      region_(region),
      header_(region.header()),
      epoch_(static_cast<std::uint32_t>(terms.epoch)),
      send_buffer_bytes_(terms.send_buffer_bytes),
      send_buffers_offset_(terms.send_buffers_offset()),
      slots_(terms.slots) {}

std::byte* RankRounds::send_buffer() {
  // The memory may have another layout now.
  if (is_epoch_over_) throw_peer_lost(0, " has begun another epoch");
  return send_buffer_of(rank(), round_ % 2);
}

const std::byte* RankRounds::received_from(std::int64_t rank) const { return send_buffer_of(rank, (round_ + 1) % 2); }

void RankRounds::all_gather() {
  if (is_epoch_over_) throw_peer_lost(0, " has begun another epoch");
  const std::uint32_t turn = round_ % 2;
  ++round_;
  round_stamp(rank(), turn).store(current_stamp());
  WaitableWord& own = header_.rank_progress[static_cast<std::size_t>(rank())].round;
  own.value.store(round_);
  own.wake_waiters();
  for (std::int64_t other = 0; other < width(); ++other) {
    if (other != rank()) wait_for(other);
  }
}

void RankRounds::clear_stamps() {
  for (std::int64_t rank = 0; rank < width(); ++rank) {
    for (const std::uint32_t turn : {0U, 1U}) round_stamp(rank, turn).store(0);
  }
}

void RankRounds::abort_epoch() {
  header_.aborted_epoch.store(epoch_);
  for (RankProgress& each : header_.rank_progress) futex_wake_all(each.round.value);
}

std::byte* RankRounds::send_buffer_of(std::int64_t rank, std::uint32_t turn) const {
  return region_.at(send_buffers_offset_ + (2 * rank + static_cast<std::int64_t>(turn)) * send_buffer_bytes_);
}

RoundStamp& RankRounds::round_stamp(std::int64_t rank, std::uint32_t turn) const {
  return *reinterpret_cast<RoundStamp*>(send_buffer_of(rank, turn) + send_buffer_bytes_ - kStampBytes);
}

// Whether a rank has ended the round. It writes the stamp after the send buffer and before its progress.
bool RankRounds::has_arrived(std::int64_t other) const {
  return round_stamp(other, (round_ + 1) % 2).load(std::memory_order_acquire) == current_stamp();
}

// Returns why a rank that has not arrived never will; null: it may.
const char* RankRounds::peer_failure(std::int64_t other) const {
  const auto slot = static_cast<std::int64_t>(slots_[static_cast<std::size_t>(other)]);
  const std::uint32_t status = header_.slots[static_cast<std::size_t>(slot)].status.load();
  const std::uint32_t seen = header_.rank_progress[static_cast<std::size_t>(other)].round.value.load();
  if (has_arrived(other)) return nullptr;
  if (header_.aborted_epoch.load() == epoch_) return " has left";
  // The leader takes helpers one by one, so a helper does not check the status of another helper.
  if ((rank() == 0 || other == 0) && status != joined_status(epoch_)) return " has left";
  if (!region_.is_held(slot)) return " is gone";
  // It has sent the round before this one. If it pauses between its stamp and its progress, the progress lags by two.
  if (seen + 1 > round_ || seen + 2 < round_) return " has sent a wrong round";
  return nullptr;
}

void RankRounds::wait_for(std::int64_t other) {
  std::optional<std::chrono::steady_clock::time_point> until;
  const auto is_over = [&] { return has_arrived(other) || is_epoch_over_; };
  const auto check_peer = [&] {
    const auto now = std::chrono::steady_clock::now();
    if (!until) until = now + kPeerTimeout;
    const char* why = peer_failure(other);
    // If the leader has begun a new epoch, all ranks have ended this one's last round. Its memory has changed since.
    is_epoch_over_ = rank() != 0 && header_.epoch.load() != epoch_;
    if (why == nullptr && now > *until) why = " is silent";
    if (why != nullptr && !is_epoch_over_) throw_peer_lost(other, why);
  };
  while (!is_over()) {
    header_.rank_progress[static_cast<std::size_t>(other)].round.wait(
        kSpinIterations, kFutexTimeout, [&] { return is_over() || header_.aborted_epoch.load() == epoch_; },
        check_peer);
    if (!is_over()) check_peer();
  }
}

void RankRounds::throw_peer_lost(std::int64_t other, const char* why) {
  has_lost_peer_ = true;
  abort_epoch();
  throw program::PeerLost("rank " + std::to_string(other) + " of a shared step" + why);
}

}  // namespace lanista::train::data_parallel
