#include "lanista/train/wide_session.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "lanista/base/check.h"
#include "lanista/base/futex.h"

namespace lanista::train {
namespace wide {
namespace {

using Word = SharedWord;

constexpr std::size_t kRanks = WideLead::kMostHelpers + 1;
constexpr std::uint32_t kEmpty = 0, kReady = 1;
constexpr int kLooks = 1000;                             // some tens of microseconds: longer than ranks lag behind
constexpr auto kNap = std::chrono::milliseconds(2);      // between looks whether a silent one lives
constexpr auto kPatience = std::chrono::seconds(60);     // with one that lives
constexpr auto kWaitForWork = std::chrono::milliseconds(5);

std::uint32_t taken_in(std::uint32_t epoch) { return kReady + epoch; }

std::int64_t up(std::int64_t bytes) { return (bytes + 63) / 64 * 64; }

Error failed(const std::string& what, const std::string& path) {
  const Code code = errno == ENOENT ? Code::kNotFound : errno == ENOSPC || errno == ENOMEM ? Code::kResourceExhausted
                                                                                           : Code::kIo;
  return {code, what + ": " + std::strerror(errno), path};
}

struct alignas(64) Seat {
  Word status;  // changes from ready to taken_in() by the leader, otherwise by whoever holds the seat's lock
  Word rank;    // while taken
};
struct alignas(64) Arrival {
  Word round;  // that the rank has ended
  Word sleepers;
};

}  // namespace

/// At the beginning of the file. Zeros are a good beginning.
struct Header {
  Word epoch;   // that began last
  Word broken;  // an epoch that somebody left before its end
  std::int64_t width, state_bytes, desk_bytes, bytes;  // of the epoch; written before helpers are taken
  std::array<Seat, kRanks> seats;                      // seat 0 is the leader's
  std::array<Arrival, kRanks> arrivals;                // of ranks

  std::int64_t desks_at() const { return up(static_cast<std::int64_t>(sizeof(Header))) + up(state_bytes); }
};

/// The mapped file, and this side's lock in it: of the byte of its seat, freed by the system with whoever holds it.
class Region {
 public:
  static Result<std::unique_ptr<Region>> open(const std::string& path, int flags) {
    const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0600);
    if (file < 0) return failed("shared memory cannot be opened", path);
    return std::unique_ptr<Region>(new Region(file, path));
  }
  ~Region() {
    unmap();
    ::close(file_);
  }

  Result<void> grow(std::int64_t bytes) {
    // Really there: a write to a page that the system cannot give would end the process.
    if (const int error = ::posix_fallocate(file_, 0, bytes); error != 0) {
      errno = error;
      return failed("no shared memory of " + std::to_string(bytes) + " bytes", path_);
    }
    return map(bytes);
  }
  Result<void> map(std::int64_t bytes) {
    if (bytes <= bytes_) return {};
    unmap();
    void* const at = ::mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
    if (at == MAP_FAILED) return failed("shared memory cannot be mapped", path_);
    data_ = static_cast<std::byte*>(at);
    bytes_ = bytes;
    return {};
  }
  Header& header() const { return *reinterpret_cast<Header*>(data_); }
  std::byte* at(std::int64_t offset) const { return data_ + offset; }

  bool lock(std::int64_t seat) const {
    struct flock wanted = lock_of(seat, F_WRLCK);
    return ::fcntl(file_, F_OFD_SETLK, &wanted) == 0;
  }
  void unlock(std::int64_t seat) const {
    struct flock wanted = lock_of(seat, F_UNLCK);
    ::fcntl(file_, F_OFD_SETLK, &wanted);
  }
  /// Does another hold it?
  bool is_held(std::int64_t seat) const {
    struct flock asked = lock_of(seat, F_WRLCK);
    return ::fcntl(file_, F_OFD_GETLK, &asked) == 0 && asked.l_type != F_UNLCK;
  }

 private:
  Region(int file, std::string path) : file_(file), path_(std::move(path)) {}
  static struct flock lock_of(std::int64_t seat, short type) {
    struct flock lock {};
    lock.l_type = type;
    lock.l_whence = SEEK_SET;
    lock.l_start = seat;
    lock.l_len = 1;
    return lock;
  }
  void unmap() {
    if (data_ != nullptr) ::munmap(data_, static_cast<std::size_t>(bytes_));
    data_ = nullptr;
    bytes_ = 0;
  }

  int file_;
  std::string path_;
  std::byte* data_ = nullptr;
  std::int64_t bytes_ = 0;
};

/// Rounds of one epoch, over desks in a region: two of each rank, used in turn.
class Rounds final : public nn::ShardPeers {
 public:
  Rounds(Region& region, std::int64_t rank)
      : ShardPeers(rank, region.header().width),
        region_(region),
        header_(region.header()),
        epoch_(header_.epoch.load()),
        desk_bytes_(header_.desk_bytes),
        desks_at_(header_.desks_at()) {
    for (std::int64_t seat = 0; seat < std::ssize(header_.seats); ++seat) {
      const Seat& each = header_.seats[static_cast<std::size_t>(seat)];
      if (each.status == taken_in(epoch_)) seats_[each.rank.load()] = seat;
    }
  }

  std::byte* mine() override { return desk(rank(), round_ % 2); }
  const std::byte* told(std::int64_t rank) const override { return desk(rank, (round_ + 1) % 2); }
  void meet() override {
    ++round_;
    Arrival& own = header_.arrivals[static_cast<std::size_t>(rank())];
    own.round.store(round_);
    if (own.sleepers.load() > 0) wake_all(own.round);
    for (std::int64_t other = 0; other < width(); ++other) {
      if (other != rank()) wait_for(other);
    }
  }

  bool lost() const { return lost_; }
  /// Whoever waits for this one waits no longer.
  void leave() {
    header_.broken.store(epoch_);
    for (Arrival& each : header_.arrivals) wake_all(each.round);
  }

 private:
  std::byte* desk(std::int64_t rank, std::uint32_t turn) const {
    return region_.at(desks_at_ + (2 * rank + static_cast<std::int64_t>(turn)) * desk_bytes_);
  }

  void wait_for(std::int64_t other) {
    Arrival& arrival = header_.arrivals[static_cast<std::size_t>(other)];
    for (int look = 0; look < kLooks; ++look) {
      if (arrival.round.load(std::memory_order_acquire) >= round_) return;
      breathe();
    }
    const auto until = std::chrono::steady_clock::now() + kPatience;
    while (true) {
      arrival.sleepers.fetch_add(1);
      const std::uint32_t seen = arrival.round.load();
      if (seen < round_ && header_.broken.load() != epoch_) sleep_while(arrival.round, seen, kNap);
      arrival.sleepers.fetch_sub(1);
      if (arrival.round.load() >= round_) return;
      // All have been here, for the leader has begun anew: it was this epoch's last round, which begins at zero again.
      if (header_.epoch.load() != epoch_) return;
      const char* why = header_.broken.load() == epoch_                                    ? " has left"
                        : !region_.is_held(seats_[static_cast<std::size_t>(other)])        ? " is gone"
                        : std::chrono::steady_clock::now() > until                         ? " is silent"
                                                                                           : nullptr;
      if (why == nullptr) continue;
      lost_ = true;
      leave();
      throw nn::PeersLost("rank " + std::to_string(other) + " of a shared step" + why);
    }
  }

  Region& region_;
  Header& header_;
  const std::uint32_t epoch_;
  const std::int64_t desk_bytes_, desks_at_;
  std::array<std::int64_t, kRanks> seats_{};  // of ranks
  std::uint32_t round_ = 0;
  bool lost_ = false;
};

}  // namespace wide

using namespace wide;

WideLead::WideLead(std::string path) : path_(std::move(path)) {}

WideLead::~WideLead() {
  end(false);
  if (region_) ::unlink(path_.c_str());
}

bool WideLead::lost() const { return rounds_ && rounds_->lost(); }

void WideLead::end(bool whole) {
  if (!rounds_) return;
  const bool failed = !whole || rounds_->lost();
  if (failed) rounds_->leave();
  rounds_.reset();
  if (!failed) return;
  ::unlink(path_.c_str());
  region_.reset();
}

Result<nn::ShardPeers*> WideLead::begin(const nn::Program& program, const std::function<Result<std::string>()>& state) {
  LANISTA_CHECK(!rounds_, "an epoch that is shared has not ended");
  const std::int64_t most = std::min(program.shards(), kMostHelpers + 1) - 1;
  if (!region_) {
    // Nobody sees it before it is whole.
    const std::string fresh = path_ + ".new";
    ::unlink(fresh.c_str());
    LANISTA_ASSIGN(auto made, Region::open(fresh, O_CREAT | O_EXCL));
    LANISTA_TRY(made->grow(static_cast<std::int64_t>(sizeof(Header))));
    made->header().bytes = static_cast<std::int64_t>(sizeof(Header));
    if (!made->lock(0) || ::rename(fresh.c_str(), path_.c_str()) != 0) {
      return wide::failed("shared memory cannot be offered", path_);
    }
    region_ = std::move(made);
    epoch_ = 0;
    return nullptr;
  }
  std::array<std::int64_t, kRanks> helpers{};
  std::int64_t width = 1;
  for (std::int64_t seat = 1; seat <= kMostHelpers && width <= most; ++seat) {
    const bool is_ready = region_->header().seats[static_cast<std::size_t>(seat)].status == kReady;
    if (is_ready && region_->is_held(seat)) helpers[static_cast<std::size_t>(width++)] = seat;
  }
  if (width == 1) return nullptr;
  LANISTA_ASSIGN(const std::string bytes, state());
  const std::int64_t places = (program.shards() + 1) / 2;  // of a rank, at most: there are two ranks or more
  const std::int64_t desk = up(places * program.shard_bytes());
  const auto state_bytes = static_cast<std::int64_t>(bytes.size());
  LANISTA_TRY(region_->grow(up(static_cast<std::int64_t>(sizeof(Header))) + up(state_bytes) + 2 * width * desk));
  Header& header = region_->header();
  header.bytes = std::max(header.bytes, up(static_cast<std::int64_t>(sizeof(Header))) + up(state_bytes) + 2 * width * desk);
  header.width = width;
  header.state_bytes = state_bytes;
  header.desk_bytes = desk;
  std::memcpy(region_->at(up(static_cast<std::int64_t>(sizeof(Header)))), bytes.data(), bytes.size());
  for (Arrival& each : header.arrivals) each.round = 0;
  header.epoch = ++epoch_;
  header.seats[0].status = taken_in(epoch_);
  std::int64_t taken = 1;
  for (std::int64_t rank = 1; rank < width; ++rank) {
    Seat& seat = header.seats[static_cast<std::size_t>(helpers[static_cast<std::size_t>(rank)])];
    seat.rank = static_cast<std::uint32_t>(rank);
  }
  for (std::int64_t rank = 1; rank < width; ++rank) {
    Seat& seat = header.seats[static_cast<std::size_t>(helpers[static_cast<std::size_t>(rank)])];
    std::uint32_t ready = kReady;
    if (seat.status.compare_exchange_strong(ready, taken_in(epoch_))) ++taken;
  }
  rounds_ = std::make_unique<Rounds>(*region_, 0);
  for (Seat& seat : header.seats) wake_all(seat.status);
  if (taken < width) {  // one left just now: those who stayed are let go
    end(false);
    return nullptr;
  }
  return rounds_.get();
}

WideSeat::WideSeat(std::unique_ptr<Region> region, std::int64_t seat) : region_(std::move(region)), seat_(seat) {}

WideSeat::~WideSeat() {
  if (!rounds_) return;
  rounds_->leave();
}

Result<std::unique_ptr<WideSeat>> WideSeat::sit(const std::string& path) {
  LANISTA_ASSIGN(auto region, Region::open(path, 0));
  LANISTA_TRY(region->map(static_cast<std::int64_t>(sizeof(Header))));
  if (!region->is_held(0)) return Error{Code::kNotFound, "nobody leads here any more", path};
  for (std::int64_t seat = 1; seat <= WideLead::kMostHelpers; ++seat) {
    // A seat that somebody died in stays empty: the leader may be about to take it.
    if (!region->lock(seat)) continue;
    if (region->header().seats[static_cast<std::size_t>(seat)].status == kEmpty) {
      return std::unique_ptr<WideSeat>(new WideSeat(std::move(region), seat));
    }
    region->unlock(seat);
  }
  return Error{Code::kNotFound, "all seats are taken", path};
}

nn::ShardPeers& WideSeat::peers() { return *rounds_; }
bool WideSeat::lost() const { return rounds_ && rounds_->lost(); }

std::optional<std::string> WideSeat::wait(const std::function<bool()>& leaves) {
  rounds_.reset();
  const auto seat = [this]() -> Seat& { return region_->header().seats[static_cast<std::size_t>(seat_)]; };
  seat().status = kReady;
  while (seat().status == kReady) {
    sleep_while(seat().status, kReady, kWaitForWork);
    if (!leaves() && region_->is_held(0)) continue;
    std::uint32_t ready = kReady;
    if (seat().status.compare_exchange_strong(ready, kEmpty)) return std::nullopt;
  }
  if (!region_->map(region_->header().bytes)) return std::nullopt;
  const Header& header = region_->header();
  rounds_ = std::make_unique<Rounds>(*region_, seat().rank.load());
  const auto* const state = reinterpret_cast<const char*>(region_->at(up(static_cast<std::int64_t>(sizeof(Header)))));
  return std::string(state, static_cast<std::size_t>(header.state_bytes));
}

}  // namespace lanista::train
