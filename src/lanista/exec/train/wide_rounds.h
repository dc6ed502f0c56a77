#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "lanista/exec/program/shard_peers.h"
#include "lanista/exec/train/wide_region.h"

namespace lanista::train::wide {

/// Rounds of one epoch, over desks in a region: two of each rank, used in turn. `terms` are this side's own copy, which
/// it has checked, so nothing that another process writes later changes a size or an offset. A rank whose marks and
/// words contradict each other is lost.
class Rounds final : public nn::ShardPeers {
 public:
  Rounds(Region& region, const Terms& terms, std::int64_t rank);

  std::byte* mine() override;
  const std::byte* told(std::int64_t rank) const override;
  void meet() override;

  /// Of the leader, before an epoch: what the memory held before is no mark.
  void clear_marks();
  bool lost() const { return lost_; }
  /// Ranks that wait for this one stop waiting.
  void leave();

 private:
  std::byte* desk(std::int64_t rank, std::uint32_t turn) const;
  Mark& mark(std::int64_t rank, std::uint32_t turn) const;
  std::uint64_t mark_of_round() const { return std::uint64_t{epoch_} << 32 | round_; }
  bool has_arrived(std::int64_t other) const;
  void wait_for(std::int64_t other);
  const char* fault_of(std::int64_t other) const;
  [[noreturn]] void lose(std::int64_t other, const char* why);

  Region& region_;
  Header& header_;
  const std::uint32_t epoch_;
  const std::int64_t desk_bytes_, desks_at_;
  const std::array<std::uint32_t, kRanks> seats_;  // of ranks
  std::uint32_t round_ = 0;
  bool is_over_ = false;  // the leader has begun another epoch: this one has no further round
  bool lost_ = false;
};

}  // namespace lanista::train::wide
