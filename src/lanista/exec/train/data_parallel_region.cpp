#include "lanista/exec/train/data_parallel_region.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "lanista/base/file_location.h"
#include "lanista/exec/program/aligned_bytes.h"

namespace lanista::train::data_parallel {
namespace {

struct flock file_lock_of(std::int64_t slot, short type) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = slot;
  lock.l_len = 1;
  return lock;
}

Error terms_error(std::uint32_t epoch, const std::string& what) {
  return {Code::kDataLoss, "epoch " + std::to_string(epoch) + " of a data-parallel trial has " + what, ""};
}

}  // namespace

std::uint64_t EpochTerms::compute_checksum() const {
  Hasher hasher;
  hasher.number(width).number(state_bytes).number(send_buffer_bytes).number(static_cast<std::int64_t>(epoch));
  for (const std::uint32_t slot : slots) hasher.number(slot);
  return hasher.finish().lo;
}

std::int64_t EpochTerms::send_buffers_offset() const { return kStateOffset + program::align_up(state_bytes); }

std::int64_t send_buffer_bytes(const program::Program& program) {
  const std::int64_t num_accumulators = (program.shards() + 1) / 2;  // most of one rank
  return program::align_up(num_accumulators * program.shard_bytes()) + kStampBytes;
}

Result<std::int64_t> check_terms(const EpochTerms& terms, const program::Program& program, std::int64_t slot,
                                 std::uint32_t epoch) {
  if (terms.checksum != terms.compute_checksum() || terms.epoch != epoch)
    return terms_error(epoch, "terms that do not match their checksum");
  const std::int64_t most = std::min(program.shards(), static_cast<std::int64_t>(kMaxRanks));
  if (terms.width < 2 || terms.width > most) {
    return terms_error(epoch, "the width " + std::to_string(terms.width) + "; allowed: 2 to " + std::to_string(most));
  }
  const std::int64_t send_buffer_of = send_buffer_bytes(program);
  if (terms.send_buffer_bytes != send_buffer_of) {
    return terms_error(epoch, "send buffers of " + std::to_string(terms.send_buffer_bytes) +
                                  " bytes; allowed: " + std::to_string(send_buffer_of));
  }
  constexpr std::int64_t kMaxStateBytes = std::int64_t{1} << 48;
  if (terms.state_bytes < 0 || terms.state_bytes > kMaxStateBytes) {
    return terms_error(epoch, "a state of " + std::to_string(terms.state_bytes) + " bytes; allowed: 0 to " +
                                  std::to_string(kMaxStateBytes));
  }
  std::array<bool, kMaxRanks> used{};
  std::int64_t own = 0;
  for (std::int64_t rank = 0; rank < terms.width; ++rank) {
    const std::uint32_t of_rank = terms.slots[static_cast<std::size_t>(rank)];
    if (of_rank >= kMaxRanks || (of_rank == 0) != (rank == 0) || std::exchange(used[of_rank], true)) {
      return terms_error(epoch, "rank " + std::to_string(rank) + " in slot " + std::to_string(of_rank) +
                                    "; allowed: 0 for rank 0, else 1 to " + std::to_string(kMaxRanks - 1) +
                                    ", each once");
    }
    if (of_rank == slot) own = rank;
  }
  if (own == 0) return terms_error(epoch, "no rank in slot " + std::to_string(slot) + ", which takes part");
  return own;
}

Result<SessionPath> open_session_folder(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == std::string::npos || slash == 0) {
    return Error{Code::kInvalidArgument, "a session has the path '" + path + "'; it must be a file in a private folder",
                 ""};
  }
  LANISTA_ASSIGN(PrivateFolder folder, PrivateFolder::open(path.substr(0, slash)));
  return SessionPath{std::move(folder), path.substr(slash + 1)};
}

Result<std::unique_ptr<SharedRegion>> SharedRegion::create(const PrivateFolder& folder, const std::string& name) {
  LANISTA_ASSIGN(const int file, folder.create_file(name));
  return std::unique_ptr<SharedRegion>(new SharedRegion(file, folder.path() + "/" + name));
}

Result<std::unique_ptr<SharedRegion>> SharedRegion::open(const PrivateFolder& folder, const std::string& name) {
  LANISTA_ASSIGN(const int file, folder.open_file(name));
  return std::unique_ptr<SharedRegion>(new SharedRegion(file, folder.path() + "/" + name));
}

Result<void> SharedRegion::grow(std::int64_t bytes) {
  // The pages must exist: a write to a page that the system cannot give ends the process.
  if (const int error = ::posix_fallocate(file_.get(), 0, bytes); error != 0)
    return system_error("no shared memory of " + std::to_string(bytes) + " bytes", path_, error);
  return map(bytes);
}

Result<void> SharedRegion::map(std::int64_t bytes) {
  if (bytes <= data_.get_deleter().bytes) return {};
  struct stat facts {};
  if (::fstat(file_.get(), &facts) != 0) return system_error("shared memory has no attributes", path_, errno);
  if (facts.st_size < bytes) {
    return Error{Code::kDataLoss,
                 "shared memory has " + std::to_string(facts.st_size) + " bytes; it must have " +
                     std::to_string(bytes) + " or more",
                 path_};
  }
  MappedBytes fresh = map_bytes(file_.get(), bytes);
  if (fresh == nullptr) return system_error("shared memory cannot be mapped", path_, errno);
  data_ = std::move(fresh);
  return {};
}

bool SharedRegion::lock(std::int64_t slot) const {
  struct flock wanted = file_lock_of(slot, F_WRLCK);
  return ::fcntl(file_.get(), F_OFD_SETLK, &wanted) == 0;
}
void SharedRegion::unlock(std::int64_t slot) const {
  struct flock wanted = file_lock_of(slot, F_UNLCK);
  ::fcntl(file_.get(), F_OFD_SETLK, &wanted);
}
bool SharedRegion::is_held(std::int64_t slot) const {
  struct flock asked = file_lock_of(slot, F_WRLCK);
  return ::fcntl(file_.get(), F_OFD_GETLK, &asked) == 0 && asked.l_type != F_UNLCK;
}

}  // namespace lanista::train::data_parallel
