#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "lanista/base/digest.h"
#include "lanista/base/futex.h"
#include "lanista/base/private_folder.h"
#include "lanista/base/result.h"
#include "lanista/exec/program/program.h"

// The shared memory of a data-parallel session (data_parallel_session.h): its layout and its locks.
namespace lanista::train::data_parallel {

inline constexpr std::size_t kMaxRanks = 8;  ///< most ranks of a session; rank 0 leads
inline constexpr std::uint32_t kSlotEmpty = 0, kSlotReady = 1;

/// The status of a slot that takes part in an epoch.
inline std::uint32_t joined_status(std::uint32_t epoch) { return kSlotReady + epoch; }
/// Returns the least multiple of 64 that is at least `bytes`.
inline std::int64_t round_up_to_line(std::int64_t bytes) { return (bytes + 63) / 64 * 64; }

/// Sizes and ranks of one epoch. The leader writes them before helpers join.
struct EpochTerms {
  std::int64_t width = 0, state_bytes = 0, send_buffer_bytes = 0;
  std::array<std::uint32_t, kMaxRanks> slots{};  ///< slot of each rank; 0 after the last rank
  std::uint64_t epoch = 0;
  std::uint64_t checksum = 0;  ///< compute_checksum()

  /// Returns the checksum of all other fields.
  std::uint64_t compute_checksum() const;
  /// Offset in bytes of the send buffers in the region.
  std::int64_t send_buffers_offset() const;
  /// Bytes of the region.
  std::int64_t bytes() const { return send_buffers_offset() + 2 * width * send_buffer_bytes; }
};

/// The slot of one process.
struct alignas(64) ProcessSlot {
  SharedWord status;  ///< changed by the leader from ready to joined_status(), else by the holder of the slot's lock
};
/// The progress of one rank.
struct alignas(64) RankProgress {
  SharedWord round;  ///< last round that the rank has ended; a futex word
  SharedWord waiters;
};
/// The begin of the region. Zeros are valid.
struct Header {
  SharedWord epoch;          ///< last epoch that began; 0 while the leader writes the terms
  SharedWord aborted_epoch;  ///< an epoch that a rank left before its end
  alignas(64) EpochTerms terms;
  std::array<ProcessSlot, kMaxRanks> slots;           ///< slot 0 is the leader's
  std::array<RankProgress, kMaxRanks> rank_progress;  ///< of each rank
};

/// The stamp at the end of a send buffer: epoch and round for which its contents are valid.
using RoundStamp = std::atomic<std::uint64_t>;
inline constexpr std::int64_t kStampBytes = 64;
static_assert(RoundStamp::is_always_lock_free && sizeof(RoundStamp) <= kStampBytes);

/// Bytes of a send buffer of this program, for at least two ranks.
std::int64_t send_buffer_bytes(const nn::Program& program);

/// Checks the terms of an epoch for the helper in `slot`, and returns its rank. Errors: kDataLoss, with the wrong
/// number and what is allowed.
Result<std::int64_t> check_terms(const EpochTerms& terms, const nn::Program& program, std::int64_t slot,
                                 std::uint32_t epoch);

/// The folder and the name of a session's file.
struct SessionPath {
  PrivateFolder folder;
  std::string name;
};
/// Opens the folder of a session's file. Errors: kInvalidArgument (no folder in the path), those of
/// PrivateFolder::open.
Result<SessionPath> open_session_folder(const std::string& path);

/// The mapped file, and this process's lock on the byte of its slot. The system releases the lock when the process
/// ends.
class SharedRegion {
 public:
  /// Creates a file, for the leader. Errors: those of PrivateFolder::create_file.
  static Result<std::unique_ptr<SharedRegion>> create(const PrivateFolder& folder, const std::string& name);
  /// Opens a leader's file. Errors: those of PrivateFolder::open_file.
  static Result<std::unique_ptr<SharedRegion>> open(const PrivateFolder& folder, const std::string& name);
  ~SharedRegion();
  SharedRegion(const SharedRegion&) = delete;
  SharedRegion& operator=(const SharedRegion&) = delete;

  /// Grows the file to `bytes` and maps it. Errors: kResourceExhausted, kIo.
  Result<void> grow(std::int64_t bytes);
  /// Maps at least `bytes` of the file. Errors: kDataLoss (the file is smaller), kResourceExhausted.
  Result<void> map(std::int64_t bytes);
  /// The begin of the mapped memory.
  Header& header() const { return *reinterpret_cast<Header*>(data_); }
  /// The mapped memory at an offset in bytes.
  std::byte* at(std::int64_t offset) const { return data_ + offset; }
  /// Locks a slot for this process. Returns false if another one holds it.
  bool lock(std::int64_t slot) const;
  /// Releases the lock of a slot.
  void unlock(std::int64_t slot) const;
  /// Whether another process or open file holds the lock of a slot.
  bool is_held(std::int64_t slot) const;

 private:
  SharedRegion(int file, std::string path) : file_(file), path_(std::move(path)) {}
  void unmap();

  int file_;
  std::string path_;
  std::byte* data_ = nullptr;
  std::int64_t bytes_ = 0;
};

}  // namespace lanista::train::data_parallel
