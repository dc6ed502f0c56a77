#include "lanista/exec/train/wide_region.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace lanista::train::wide {
namespace {

Error failed(const std::string& what, int error, const std::string& path) {
  const bool is_full = error == ENOSPC || error == ENOMEM;
  return {is_full ? Code::kResourceExhausted : Code::kIo, what + ": " + std::strerror(error), path};
}

struct flock lock_of(std::int64_t seat, short type) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = seat;
  lock.l_len = 1;
  return lock;
}

Error wrong(std::uint32_t epoch, const std::string& what) {
  return {Code::kDataLoss, "epoch " + std::to_string(epoch) + " of a shared trial has " + what, ""};
}

}  // namespace

std::uint64_t Terms::sum() const {
  Hasher hasher;
  hasher.number(width).number(state_bytes).number(desk_bytes).number(static_cast<std::int64_t>(epoch));
  for (const std::uint32_t seat : seats) hasher.number(seat);
  return hasher.finish().lo;
}

std::int64_t Terms::desks_at() const { return up(static_cast<std::int64_t>(sizeof(Header))) + up(state_bytes); }

std::int64_t desk_bytes(const nn::Program& program) {
  const std::int64_t places = (program.shards() + 1) / 2;  // of a rank, at most
  return up(places * program.shard_bytes()) + kMarkBytes;
}

Result<std::int64_t> check(const Terms& terms, const nn::Program& program, std::int64_t seat, std::uint32_t epoch) {
  if (terms.check != terms.sum() || terms.epoch != epoch) return wrong(epoch, "terms that do not match their checksum");
  const std::int64_t most = std::min(program.shards(), static_cast<std::int64_t>(kRanks));
  if (terms.width < 2 || terms.width > most) {
    return wrong(epoch, "the width " + std::to_string(terms.width) + "; allowed: 2 to " + std::to_string(most));
  }
  const std::int64_t desk = desk_bytes(program);
  if (terms.desk_bytes != desk) {
    return wrong(epoch, "desks of " + std::to_string(terms.desk_bytes) + " bytes; allowed: " + std::to_string(desk));
  }
  constexpr std::int64_t kMostState = std::int64_t{1} << 48;
  if (terms.state_bytes < 0 || terms.state_bytes > kMostState) {
    return wrong(epoch, "a state of " + std::to_string(terms.state_bytes) + " bytes; allowed: 0 to " +
                            std::to_string(kMostState));
  }
  std::array<bool, kRanks> used{};
  std::int64_t own = 0;
  for (std::int64_t rank = 0; rank < terms.width; ++rank) {
    const std::uint32_t of_rank = terms.seats[static_cast<std::size_t>(rank)];
    if (of_rank >= kRanks || (of_rank == 0) != (rank == 0) || std::exchange(used[of_rank], true)) {
      return wrong(epoch, "rank " + std::to_string(rank) + " in seat " + std::to_string(of_rank) +
                              "; allowed: 0 for rank 0, else 1 to " + std::to_string(kRanks - 1) + ", each once");
    }
    if (of_rank == seat) own = rank;
  }
  if (own == 0) return wrong(epoch, "no rank in seat " + std::to_string(seat) + ", which takes part");
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

Result<std::unique_ptr<Region>> Region::create(const PrivateFolder& folder, const std::string& name) {
  LANISTA_ASSIGN(const int file, folder.create_file(name));
  return std::unique_ptr<Region>(new Region(file, folder.path() + "/" + name));
}

Result<std::unique_ptr<Region>> Region::open(const PrivateFolder& folder, const std::string& name) {
  LANISTA_ASSIGN(const int file, folder.open_file(name));
  return std::unique_ptr<Region>(new Region(file, folder.path() + "/" + name));
}

Region::~Region() {
  unmap();
  ::close(file_);
}

Result<void> Region::grow(std::int64_t bytes) {
  // The pages must exist: a write to a page that the system cannot give ends the process.
  if (const int error = ::posix_fallocate(file_, 0, bytes); error != 0) {
    return failed("no shared memory of " + std::to_string(bytes) + " bytes", error, path_);
  }
  return map(bytes);
}

Result<void> Region::map(std::int64_t bytes) {
  if (bytes <= bytes_) return {};
  struct stat facts {};
  if (::fstat(file_, &facts) != 0) return failed("shared memory has no attributes", errno, path_);
  if (facts.st_size < bytes) {
    return Error{Code::kDataLoss,
                 "shared memory has " + std::to_string(facts.st_size) + " bytes; it must have " +
                     std::to_string(bytes) + " or more",
                 path_};
  }
  void* const at = ::mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
  if (at == MAP_FAILED) return failed("shared memory cannot be mapped", errno, path_);
  unmap();
  data_ = static_cast<std::byte*>(at);
  bytes_ = bytes;
  return {};
}

bool Region::lock(std::int64_t seat) const {
  struct flock wanted = lock_of(seat, F_WRLCK);
  return ::fcntl(file_, F_OFD_SETLK, &wanted) == 0;
}
void Region::unlock(std::int64_t seat) const {
  struct flock wanted = lock_of(seat, F_UNLCK);
  ::fcntl(file_, F_OFD_SETLK, &wanted);
}
bool Region::is_held(std::int64_t seat) const {
  struct flock asked = lock_of(seat, F_WRLCK);
  return ::fcntl(file_, F_OFD_GETLK, &asked) == 0 && asked.l_type != F_UNLCK;
}

void Region::unmap() {
  if (data_ != nullptr) ::munmap(data_, static_cast<std::size_t>(bytes_));
  data_ = nullptr;
  bytes_ = 0;
}

}  // namespace lanista::train::wide
