#include "lanista/exec/train/wide_session.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "lanista/base/check.h"
#include "lanista/exec/train/wide_region.h"
#include "lanista/exec/train/wide_rounds.h"

namespace lanista::train {
namespace {

constexpr auto kWaitForWork = std::chrono::milliseconds(5);

}  // namespace

using namespace wide;

static_assert(kRanks == WideLead::kMostHelpers + 1);

WideLead::WideLead(std::string path) : path_(std::move(path)) {}

WideLead::~WideLead() {
  end(false);
  remove_file();
}

bool WideLead::lost() const { return rounds_ && rounds_->lost(); }

void WideLead::remove_file() {
  if (place_) place_->folder.remove_file(place_->name);
  place_.reset();
  region_.reset();
}

void WideLead::end(bool whole) {
  if (!rounds_) return;
  const bool failed = !whole || rounds_->lost();
  if (failed) rounds_->leave();
  rounds_.reset();
  if (failed) remove_file();
}

Result<nn::ShardPeers*> WideLead::begin(const nn::Program& program, const std::function<Result<std::string>()>& state) {
  LANISTA_CHECK(!rounds_, "an epoch that is shared has not ended");
  const std::int64_t most = std::min(program.shards(), kMostHelpers + 1) - 1;
  if (!region_) {
    // Helpers do not see the file before it is complete.
    LANISTA_ASSIGN(SessionPath place, open_session_folder(path_));
    const std::string fresh = place.name + ".new";
    place.folder.remove_file(fresh);
    LANISTA_ASSIGN(auto made, Region::create(place.folder, fresh));
    LANISTA_TRY(made->grow(static_cast<std::int64_t>(sizeof(Header))));
    if (!made->lock(0)) return Error{Code::kIo, "shared memory cannot be locked", path_};
    LANISTA_TRY(place.folder.rename_file(fresh, place.name));
    place_ = std::make_unique<SessionPath>(std::move(place));
    region_ = std::move(made);
    epoch_ = 0;
    return nullptr;
  }
  Terms terms;
  terms.width = 1;
  for (std::int64_t seat = 1; seat <= kMostHelpers && terms.width <= most; ++seat) {
    const bool is_ready = region_->header().seats[static_cast<std::size_t>(seat)].status == kReady;
    if (!is_ready || !region_->is_held(seat)) continue;
    terms.seats[static_cast<std::size_t>(terms.width++)] = static_cast<std::uint32_t>(seat);
  }
  if (terms.width == 1) return nullptr;
  LANISTA_ASSIGN(const std::string bytes, state());
  terms.desk_bytes = desk_bytes(program);
  terms.state_bytes = static_cast<std::int64_t>(bytes.size());
  terms.epoch = ++epoch_;
  terms.check = terms.sum();
  LANISTA_TRY(region_->grow(terms.bytes()));
  Header& header = region_->header();
  header.epoch = 0;  // Whoever reads the terms meanwhile reads them in vain.
  header.terms = terms;
  std::memcpy(region_->at(up(static_cast<std::int64_t>(sizeof(Header)))), bytes.data(), bytes.size());
  rounds_ = std::make_unique<Rounds>(*region_, terms, 0);
  rounds_->clear_marks();
  for (Arrival& each : header.arrivals) each.round = 0;
  header.epoch = epoch_;
  header.seats[0].status = taken_in(epoch_);
  std::int64_t taken = 1;
  for (std::int64_t rank = 1; rank < terms.width; ++rank) {
    std::uint32_t ready = kReady;
    Seat& seat = header.seats[terms.seats[static_cast<std::size_t>(rank)]];
    if (seat.status.compare_exchange_strong(ready, taken_in(epoch_))) ++taken;
  }
  for (Seat& seat : header.seats) wake_all(seat.status);
  if (taken < terms.width) {  // one left just now: those who stayed are let go
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
  LANISTA_ASSIGN(const SessionPath place, open_session_folder(path));
  LANISTA_ASSIGN(auto region, Region::open(place.folder, place.name));
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

Result<std::optional<std::string>> WideSeat::wait(const nn::Program& program, const std::function<bool()>& leaves) {
  rounds_.reset();
  SharedWord& word = region_->header().seats[static_cast<std::size_t>(seat_)].status;
  word = kReady;
  std::uint32_t status = kReady;
  while ((status = word.load()) == kReady) {
    sleep_while(word, kReady, kWaitForWork);
    if (!leaves() && region_->is_held(0)) continue;
    std::uint32_t ready = kReady;
    if (word.compare_exchange_strong(ready, kEmpty)) return std::optional<std::string>();
  }
  // One copy of each number, which is checked and used. The leader may have begun an epoch without this seat meanwhile.
  const std::uint32_t epoch = status - kReady;
  const auto is_past = [&] { return region_->header().epoch.load() != epoch; };
  if (epoch == 0 || is_past()) return std::optional<std::string>();
  const Terms terms = region_->header().terms;
  if (is_past()) return std::optional<std::string>();
  LANISTA_ASSIGN(const std::int64_t rank, check(terms, program, seat_, epoch));
  LANISTA_TRY(region_->map(terms.bytes()));
  const auto* const at = reinterpret_cast<const char*>(region_->at(up(static_cast<std::int64_t>(sizeof(Header)))));
  std::string state(at, static_cast<std::size_t>(terms.state_bytes));
  if (is_past()) return std::optional<std::string>();
  rounds_ = std::make_unique<Rounds>(*region_, terms, rank);
  return std::optional<std::string>(std::move(state));
}

}  // namespace lanista::train
