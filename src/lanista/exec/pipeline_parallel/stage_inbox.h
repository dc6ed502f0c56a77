#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lanista/base/digest.h"
#include "lanista/base/result.h"
#include "lanista/exec/pipeline_parallel/stage_progress.h"

// Places that do not see each other's memory have each the same memory, of which they tell each other what changes.
namespace lanista::nn {

/// Bytes of the memory that one place tells another one.
struct MemoryRoute {
  std::uint32_t from = 0, to = 0;
  std::int64_t begin = 0, end = 0;
};

/// The memory that the places of a program wait at and write to.
struct StageMemoryMap {
  std::int64_t bytes = 0;
  Digest program;                       ///< equal for programs that may be places of each other's steps
  std::vector<std::uint32_t> rank_of;  ///< of each stage
  std::uint32_t ranks = 1;
  std::int64_t pieces = 1;         ///< of a batch
  std::vector<MemoryRoute> routes;  ///< of places that do not see each other's
};

/// Applies what other places say to a place's own memory: nothing else than what the program has them say. One thread
/// at a time; another one may be at work in that memory, as in memory that is shared.
class StageInbox {
 public:
  /// `memory` is of the map's size, and outlives this as the map does.
  StageInbox(const StageMemoryMap& map, std::byte* memory, std::uint32_t own);

  /// Whether `from` may tell `to` these bytes. Errors: kInvalidArgument, naming places, bytes and what is allowed.
  Result<void> check(std::uint32_t from, std::uint32_t to, std::int64_t at, std::int64_t bytes) const;
  /// Bytes for this place. Errors: those of `check`.
  Result<void> write(std::uint32_t from, std::int64_t at, std::span<const char> bytes);
  /// Errors: kInvalidArgument (a word that is not this place's to say, or says what cannot be).
  Result<void> receive(std::uint32_t from, const StageSignal& signal);

 private:
  const StageMemoryMap& map_;
  std::byte* memory_;
  std::uint32_t own_;
  StageProgress board_;
  std::vector<bool> ended_;  // each place, of the step under way
};

}  // namespace lanista::nn
