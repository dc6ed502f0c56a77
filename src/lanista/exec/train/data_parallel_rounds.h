#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "lanista/exec/program/shard_communicator.h"
#include "lanista/exec/train/data_parallel_region.h"

namespace lanista::train::data_parallel {

/// The rounds in which the ranks of one epoch exchange send buffers. Each rank has two buffers, which are used in turn.
///
/// `terms` are this side's own, checked copy, so nothing that another process writes later changes a size or an offset.
/// A rank with stamps and progress that contradict each other counts as lost.
class RankRounds final : public program::ShardCommunicator {
 public:
  /// `terms` are checked (check_terms), and `rank` is this process's rank. `region` must outlive this.
  RankRounds(SharedRegion& region, const EpochTerms& terms, std::int64_t rank);

  std::byte* send_buffer() override;
  const std::byte* received_from(std::int64_t rank) const override;
  void all_gather() override;

  /// Clears the stamps that the memory may contain. The leader calls it before an epoch.
  void clear_stamps();
  /// True if this side has found another rank lost in this epoch.
  bool has_lost_peer() const { return has_lost_peer_; }
  /// Marks the epoch as left: ranks that wait for this one stop waiting and throw PeerLost.
  void abort_epoch();

 private:
  std::byte* send_buffer_of(std::int64_t rank, std::uint32_t turn) const;
  RoundStamp& round_stamp(std::int64_t rank, std::uint32_t turn) const;
  std::uint64_t current_stamp() const { return std::uint64_t{epoch_} << 32 | round_; }
  bool has_arrived(std::int64_t other) const;
  void wait_for(std::int64_t other);
  const char* peer_failure(std::int64_t other) const;
  [[noreturn]] void throw_peer_lost(std::int64_t other, const char* why);

  SharedRegion& region_;
  Header& header_;
  const std::uint32_t epoch_;
  const std::int64_t send_buffer_bytes_, send_buffers_offset_;
  const std::array<std::uint32_t, kMaxRanks> slots_;  // of each rank
  std::uint32_t round_ = 0;
  bool is_epoch_over_ = false;  // the leader has begun another epoch: this one has no further round
  bool has_lost_peer_ = false;
};

}  // namespace lanista::train::data_parallel
