#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>

namespace lanista::nn {

/// Another rank has failed or is lost, or does not wait any longer.
class PeerLost : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The view of one rank on the ranks that share the steps of one lane.
///
/// All ranks run programs of one kind, at the same step of equal states, with the same batches. Each computes a range
/// of the shards, and all exchange gradients, losses and partial values. Every rank sums the same numbers in the same
/// order, so every rank commits the bits that a single program would commit.
///
/// The exchange works in rounds: each rank writes its send buffer, all call all_gather(), each reads what it received.
/// A received buffer may be read until its reader enters the next but one all_gather().
class ShardCommunicator {
 public:
  /// `rank` is less than `width`, the number of ranks.
  ShardCommunicator(std::int64_t rank, std::int64_t width) : rank_(rank), width_(width) {}
  virtual ~ShardCommunicator() = default;
  ShardCommunicator(const ShardCommunicator&) = delete;
  ShardCommunicator& operator=(const ShardCommunicator&) = delete;

  std::int64_t rank() const { return rank_; }    ///< rank of this program, from 0, in order of the shards
  std::int64_t width() const { return width_; }  ///< number of ranks

  /// The memory that this rank fills for the coming round: Program::shard_bytes() an accumulator, aligned to 64 bytes.
  virtual std::byte* send_buffer() = 0;
  /// Waits until all ranks have called it, and ends the round. Throws PeerLost; then no rank has a further round.
  virtual void all_gather() = 0;
  /// The send buffer of `rank` in the round that ended last.
  virtual const std::byte* received_from(std::int64_t rank) const = 0;

 private:
  std::int64_t rank_, width_;
};

}  // namespace lanista::nn
