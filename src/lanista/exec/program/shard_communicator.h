#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>

namespace lanista::nn {

/// The others cannot be waited for any longer, or do not wait any longer themselves.
class PeerLost : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Programs that share the steps of one lane, seen by one of them. All are of one kind, at the same step of the same
/// state, and are given the same batches; each computes a range of the shards, and all tell each other what came of
/// theirs. So each of them sums the same numbers in the same order, and commits the bits that one alone would commit.
///
/// They talk in rounds: each writes what it has to tell, all meet, each reads what the others wrote. A round may be read
/// until its reader begins to wait in the next but one meet().
class ShardCommunicator {
 public:
  ShardCommunicator(std::int64_t rank, std::int64_t width) : rank_(rank), width_(width) {}
  virtual ~ShardCommunicator() = default;
  ShardCommunicator(const ShardCommunicator&) = delete;
  ShardCommunicator& operator=(const ShardCommunicator&) = delete;

  std::int64_t rank() const { return rank_; }    ///< from 0 on, in order of the shards
  std::int64_t width() const { return width_; }  ///< ranks

  /// Where this rank writes in the coming round: Program::shard_bytes() for each place of its ShardRange, aligned to 64.
  virtual std::byte* send_buffer() = 0;
  /// Until all ranks are here; ends the round. Throws PeerLost; then no round follows for anybody.
  virtual void all_gather() = 0;
  /// What a rank wrote in the round that ended last.
  virtual const std::byte* received_from(std::int64_t rank) const = 0;

 private:
  std::int64_t rank_, width_;
};

}  // namespace lanista::nn
