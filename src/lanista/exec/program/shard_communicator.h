#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>

namespace lanista::program {

/// The exception of ShardCommunicator::all_gather when another rank of a data-parallel step has failed, is lost, or
/// does not wait any longer. Pipeline stages do not throw it.
class PeerLost : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The object by which one rank exchanges values with the other ranks that share the steps of one lane.
///
/// All ranks run programs of one kind, at the same step of equal states, with the same batches. Each computes a range
/// of the shards, and all exchange gradients, losses and partial values. Every rank sums the same numbers in the same
/// order, so every rank commits the bits that a single program would commit.
///
/// The exchange works in rounds. Each rank writes its send buffer, all call all_gather(), and each reads the received
/// buffers. A received buffer may be read until its reader enters the next all_gather().
class ShardCommunicator {
 public:
  /// `rank` is from 0 to `width` - 1, and `width` is the number of ranks.
  ShardCommunicator(std::int64_t rank, std::int64_t width) : rank_(rank), width_(width) {}
  virtual ~ShardCommunicator() = default;
  ShardCommunicator(const ShardCommunicator&) = delete;
  ShardCommunicator& operator=(const ShardCommunicator&) = delete;

  std::int64_t rank() const { return rank_; }    ///< Rank of this program, from 0, in the order of the shards.
  std::int64_t width() const { return width_; }  ///< Number of ranks, this one included.

  /// The memory that this rank fills for the coming round: one block of Program::shard_bytes() for each accumulator
  /// (ShardRange). Aligned to 64 bytes, owned by this object.
  virtual std::byte* send_buffer() = 0;
  /// Waits until all ranks have called it, and ends the round. Throws PeerLost; then no rank has a further round with
  /// this object.
  virtual void all_gather() = 0;
  /// The send buffer that `rank` (this one included) had filled for the last round.
  virtual const std::byte* received_from(std::int64_t rank) const = 0;

 private:
  std::int64_t rank_, width_;
};

}  // namespace lanista::program
