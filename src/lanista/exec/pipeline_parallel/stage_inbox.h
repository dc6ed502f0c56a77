#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lanista/base/digest.h"
#include "lanista/base/result.h"
#include "lanista/exec/pipeline_parallel/stage_progress.h"

// Memory of ranks with separate memory: each has a copy, and they send each other the bytes that change.
namespace lanista::program {

/// A range of the step memory that one rank may send to another.
struct MemoryRoute {
  std::uint32_t from = 0, to = 0;   ///< Sending and receiving rank.
  std::int64_t begin = 0, end = 0;  ///< Bytes from the begin of the memory; `end` is exclusive.
};

/// The memory that the ranks of a program share or copy, and which rank may write what.
struct StageMemoryMap {
  std::int64_t bytes = 0;              ///< Size of the memory.
  Digest program;                      ///< Equal for programs that may be ranks of the same steps.
  std::vector<std::uint32_t> rank_of;  ///< Rank of each stage.
  std::uint32_t ranks = 1;             ///< Number of ranks.
  std::int64_t pieces = 1;             ///< Number of pieces of a batch.
  std::vector<MemoryRoute> routes;     ///< Allowed transfers between ranks with separate memory.
};

/// Applies the messages of other ranks to a rank's own memory. It accepts only what the program's routes allow.
///
/// One thread at a time. Another thread may use the memory meanwhile, as with shared memory.
class StageInbox {
 public:
  /// `memory` has map.bytes bytes, and `own` is this rank. `map` and `memory` must outlive this.
  StageInbox(const StageMemoryMap& map, std::byte* memory, std::uint32_t own);

  /// Checks that rank `from` may send `bytes` bytes at offset `at` of the memory to rank `to`. Errors:
  /// kInvalidArgument, naming ranks, bytes and the allowed ranges.
  Result<void> check(std::uint32_t from, std::uint32_t to, std::int64_t at, std::int64_t bytes) const;
  /// Writes bytes that rank `from` sent to offset `at` of this rank's memory. Errors: kInvalidArgument (no route allows
  /// them).
  Result<void> write(std::uint32_t from, std::int64_t at, std::span<const char> bytes);
  /// Applies a signal of rank `from` to the progress in the memory. Errors: kInvalidArgument (a signal that this rank
  /// may not send, or a number out of range).
  Result<void> receive(std::uint32_t from, const StageSignal& signal);

 private:
  const StageMemoryMap& map_;
  std::byte* memory_;
  std::uint32_t own_;
  StageProgress board_;
  std::vector<bool> ended_;  // whether each rank has ended the current step
};

}  // namespace lanista::program
