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

// The shared memory of a wide session (wide_session.h): what stands where, and who may open it.
namespace lanista::train::data_parallel {

inline constexpr std::size_t kMaxRanks = 8;  ///< of a session, at most; rank 0 leads
inline constexpr std::uint32_t kSlotEmpty = 0, kSlotReady = 1;

/// Status of a seat that takes part in an epoch.
inline std::uint32_t joined_status(std::uint32_t epoch) { return kSlotReady + epoch; }
inline std::int64_t round_up_to_line(std::int64_t bytes) { return (bytes + 63) / 64 * 64; }

/// Sizes and ranks of one epoch. The leader writes them before it takes helpers.
struct EpochTerms {
  std::int64_t width = 0, state_bytes = 0, send_buffer_bytes = 0;
  std::array<std::uint32_t, kMaxRanks> slots{};  ///< of each rank; 0 behind the width
  std::uint64_t epoch = 0;
  std::uint64_t checksum = 0;  ///< sum() of all else

  std::uint64_t compute_checksum() const;
  std::int64_t send_buffers_offset() const;
  std::int64_t bytes() const { return send_buffers_offset() + 2 * width * send_buffer_bytes; }
};

struct alignas(64) ProcessSlot {
  SharedWord status;  ///< the leader changes it from ready to joined_status(), otherwise the holder of the seat's lock
};
struct alignas(64) RankProgress {
  SharedWord round;  ///< that the rank has ended; a word to wait at
  SharedWord waiters;
};
/// At the beginning of the file. Zeros are valid.
struct Header {
  SharedWord epoch;   ///< that began last; 0 while the leader writes the terms
  SharedWord aborted_epoch;  ///< an epoch that a rank left before its end
  alignas(64) EpochTerms terms;
  std::array<ProcessSlot, kMaxRanks> slots;        ///< seat 0 is the leader's
  std::array<RankProgress, kMaxRanks> rank_progress;  ///< of ranks
};

/// A desk is what a rank writes in one round, and behind it the mark of that round.
using RoundStamp = std::atomic<std::uint64_t>;
inline constexpr std::int64_t kStampBytes = 64;
static_assert(RoundStamp::is_always_lock_free && sizeof(RoundStamp) <= kStampBytes);

/// Of a rank of this program, where at least two ranks share its steps.
std::int64_t send_buffer_bytes(const nn::Program& program);

/// Whether a helper of this program, in that seat, can work by these terms. Gives its rank. Errors: kDataLoss, with the
/// number that is wrong and what is allowed.
Result<std::int64_t> check_terms(const EpochTerms& terms, const nn::Program& program, std::int64_t slot, std::uint32_t epoch);

/// The folder and the name of a session's file.
struct SessionPath {
  PrivateFolder folder;
  std::string name;
};
/// Errors: kInvalidArgument (no name of a folder), those of PrivateFolder::open.
Result<SessionPath> open_session_folder(const std::string& path);

/// The mapped file, and this side's lock in it: of the byte of its seat. The system frees it when its process ends.
class SharedRegion {
 public:
  /// A new file, for the leader. Errors: those of PrivateFolder::create_file.
  static Result<std::unique_ptr<SharedRegion>> create(const PrivateFolder& folder, const std::string& name);
  /// A leader's file. Errors: those of PrivateFolder::open_file.
  static Result<std::unique_ptr<SharedRegion>> open(const PrivateFolder& folder, const std::string& name);
  ~SharedRegion();
  SharedRegion(const SharedRegion&) = delete;
  SharedRegion& operator=(const SharedRegion&) = delete;

  /// Errors: kResourceExhausted, kIo.
  Result<void> grow(std::int64_t bytes);
  /// Errors: kDataLoss (the file is smaller), kResourceExhausted.
  Result<void> map(std::int64_t bytes);
  Header& header() const { return *reinterpret_cast<Header*>(data_); }
  std::byte* at(std::int64_t offset) const { return data_ + offset; }

  bool lock(std::int64_t slot) const;
  void unlock(std::int64_t slot) const;
  /// Whether another one holds it.
  bool is_held(std::int64_t slot) const;

 private:
  SharedRegion(int file, std::string path) : file_(file), path_(std::move(path)) {}
  void unmap();

  int file_;
  std::string path_;
  std::byte* data_ = nullptr;
  std::int64_t bytes_ = 0;
};

}  // namespace lanista::train::wide
