#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "lanista/base/descriptor.h"
#include "lanista/base/digest.h"
#include "lanista/base/futex.h"
#include "lanista/base/mapped_bytes.h"
#include "lanista/base/private_folder.h"
#include "lanista/base/result.h"
#include "lanista/exec/program/program.h"

// The shared memory of a data-parallel session (data_parallel_session.h): its layout and its locks.
namespace lanista::train::data_parallel {

inline constexpr std::size_t kMaxRanks = 8;  ///< Most ranks of a session; rank 0 is the leader.
/// Values of ProcessSlot::status of a slot without a process, and of a helper that waits for an epoch.
inline constexpr std::uint32_t kSlotEmpty = 0, kSlotReady = 1;

/// The status of a slot that takes part in epoch `epoch`, which is at least 1.
inline std::uint32_t joined_status(std::uint32_t epoch) { return kSlotReady + epoch; }

/// The sizes, slots and number of one epoch of a session. The leader writes them before helpers join the epoch.
struct EpochTerms {
  /// Number of ranks; bytes of the leader's state; bytes of one send buffer.
  std::int64_t width = 0, state_bytes = 0, send_buffer_bytes = 0;
  /// Index in Header::slots of each rank; 0 for rank 0 and after the last rank.
  std::array<std::uint32_t, kMaxRanks> slots{};
  std::uint64_t epoch = 0;     ///< Number of the epoch in this file, from 1.
  std::uint64_t checksum = 0;  ///< Result of compute_checksum().

  /// Returns the checksum of all other fields.
  std::uint64_t compute_checksum() const;
  /// Offset in bytes of the send buffers from the begin of the region.
  std::int64_t send_buffers_offset() const;
  /// Bytes of the whole region: header, state, and two send buffers a rank.
  std::int64_t bytes() const { return send_buffers_offset() + 2 * width * send_buffer_bytes; }
};

/// The entry of one process in the region's header.
struct alignas(64) ProcessSlot {
  /// kSlotEmpty, kSlotReady or joined_status(); the leader changes it from ready to joined, else the holder of the
  /// slot's lock.
  SharedWord status;
};
/// The progress of one rank in the current epoch.
struct alignas(64) RankProgress {
  /// Number of the last round of the epoch that the rank has ended, 0 before the first; other ranks wait at it. Whether
  /// the rank has arrived is decided by RoundStamp.
  WaitableWord round;
};
/// The begin of the region. Zeros are a valid beginning.
struct Header {
  SharedWord epoch;          ///< Number of the last epoch that began; 0 while the leader writes the terms.
  SharedWord aborted_epoch;  ///< Number of an epoch that a rank left before its end; 0: none.
  /// The terms of the last epoch.
  alignas(64) EpochTerms terms;
  std::array<ProcessSlot, kMaxRanks> slots;           ///< Slot 0 is the leader's; slots of helpers follow.
  std::array<RankProgress, kMaxRanks> rank_progress;  ///< By rank.
};
/// Offset in bytes of the leader's state from the begin of the region.
inline constexpr std::int64_t kStateOffset = sizeof(Header);

/// The stamp at the end of a send buffer: (epoch << 32) | round for which its contents are valid.
using RoundStamp = std::atomic<std::uint64_t>;
/// Bytes that a stamp needs at the end of a send buffer.
inline constexpr std::int64_t kStampBytes = 64;
static_assert(RoundStamp::is_always_lock_free && sizeof(RoundStamp) <= kStampBytes);

/// Bytes of one send buffer of this program, stamp included, for any number of ranks from two.
std::int64_t send_buffer_bytes(const program::Program& program);

/// Checks the terms of epoch `epoch` for the helper in slot `slot`, and returns the rank of that helper. Errors:
/// kDataLoss, naming the wrong number and what is allowed.
Result<std::int64_t> check_terms(const EpochTerms& terms, const program::Program& program, std::int64_t slot,
                                 std::uint32_t epoch);

/// The opened folder and the file name of a session.
struct SessionPath {
  PrivateFolder folder;  ///< The opened folder.
  std::string name;      ///< Name of the file in the folder.
};
/// Opens the folder of a session's file. Errors: kInvalidArgument (no folder in the path, or the root folder),
/// kNotFound (no such folder), kFailedPrecondition (the folder is not private), kIo.
Result<SessionPath> open_session_folder(const std::string& path);

/// A session's mapped file, with the locks of this open file on bytes of it, one byte a slot. The system releases the
/// locks when this object or the process ends. Move-only.
class SharedRegion {
 public:
  /// Creates an empty file without a mapping, for the leader. Errors: kAlreadyExists, kInvalidArgument (the name),
  /// kResourceExhausted, kIo.
  static Result<std::unique_ptr<SharedRegion>> create(const PrivateFolder& folder, const std::string& name);
  /// Opens a leader's file without a mapping. Errors: kNotFound, kFailedPrecondition (the file is not private),
  /// kInvalidArgument (the name), kIo.
  static Result<std::unique_ptr<SharedRegion>> open(const PrivateFolder& folder, const std::string& name);

  /// Grows the file to at least `bytes` bytes, allocates its pages and maps it. Addresses from before may be invalid.
  /// Errors: kResourceExhausted (no memory), kIo.
  Result<void> grow(std::int64_t bytes);
  /// Maps at least the first `bytes` bytes of the file. Addresses from before may be invalid. Errors: kDataLoss (the
  /// file is smaller), kResourceExhausted, kIo.
  Result<void> map(std::int64_t bytes);
  /// The begin of the mapped memory. Requires grow() or map().
  Header& header() const { return *reinterpret_cast<Header*>(data_.get()); }
  /// The mapped memory at an offset in bytes from its begin.
  std::byte* at(std::int64_t offset) const { return data_.get() + offset; }
  /// Locks slot `slot` for this open file. Returns true if it is now locked. False: another open file, perhaps of this
  /// process, holds it, or the system gives no lock.
  bool lock(std::int64_t slot) const;
  /// Releases the lock of this open file on slot `slot`.
  void unlock(std::int64_t slot) const;
  /// True if another open file, of this or another process, holds the lock of slot `slot`.
  bool is_held(std::int64_t slot) const;

 private:
  SharedRegion(int file, std::string path) : file_(file), path_(std::move(path)) {}

  Descriptor file_;
  std::string path_;
  MappedBytes data_;
};

}  // namespace lanista::train::data_parallel
