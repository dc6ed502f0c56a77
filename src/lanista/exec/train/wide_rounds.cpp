#include "lanista/exec/train/wide_rounds.h"

#include <chrono>
#include <string>

namespace lanista::train::wide {
namespace {

constexpr int kLooks = 1000;                          // some tens of microseconds: longer than ranks lag behind
constexpr auto kNap = std::chrono::milliseconds(2);   // between looks whether a silent rank lives
constexpr auto kPatience = std::chrono::seconds(20);  // with a rank that lives and sends nothing

}  // namespace

Rounds::Rounds(Region& region, const Terms& terms, std::int64_t rank)
    : ShardPeers(rank, terms.width),
      region_(region),
      header_(region.header()),
      epoch_(static_cast<std::uint32_t>(terms.epoch)),
      desk_bytes_(terms.desk_bytes),
      desks_at_(terms.desks_at()),
      seats_(terms.seats) {}

std::byte* Rounds::mine() {
  // The memory may have another layout by now.
  if (is_over_) lose(0, " has begun another epoch");
  return desk(rank(), round_ % 2);
}

const std::byte* Rounds::told(std::int64_t rank) const { return desk(rank, (round_ + 1) % 2); }

void Rounds::meet() {
  if (is_over_) lose(0, " has begun another epoch");
  const std::uint32_t turn = round_ % 2;
  ++round_;
  mark(rank(), turn).store(mark_of_round());
  Arrival& own = header_.arrivals[static_cast<std::size_t>(rank())];
  own.round.store(round_);
  if (own.sleepers.load() > 0) wake_all(own.round);
  for (std::int64_t other = 0; other < width(); ++other) {
    if (other != rank()) wait_for(other);
  }
}

void Rounds::clear_marks() {
  for (std::int64_t rank = 0; rank < width(); ++rank) {
    for (const std::uint32_t turn : {0U, 1U}) mark(rank, turn).store(0);
  }
}

void Rounds::leave() {
  header_.broken.store(epoch_);
  for (Arrival& each : header_.arrivals) wake_all(each.round);
}

std::byte* Rounds::desk(std::int64_t rank, std::uint32_t turn) const {
  return region_.at(desks_at_ + (2 * rank + static_cast<std::int64_t>(turn)) * desk_bytes_);
}

Mark& Rounds::mark(std::int64_t rank, std::uint32_t turn) const {
  return *reinterpret_cast<Mark*>(desk(rank, turn) + desk_bytes_ - kMarkBytes);
}

// The mark is written after the desk and before the word of the rank.
bool Rounds::has_arrived(std::int64_t other) const {
  return mark(other, (round_ + 1) % 2).load(std::memory_order_acquire) == mark_of_round();
}

// Why a rank that has not arrived never will; null: it may.
const char* Rounds::fault_of(std::int64_t other) const {
  const auto seat = static_cast<std::int64_t>(seats_[static_cast<std::size_t>(other)]);
  const std::uint32_t status = header_.seats[static_cast<std::size_t>(seat)].status.load();
  const std::uint32_t seen = header_.arrivals[static_cast<std::size_t>(other)].round.load();
  if (has_arrived(other)) return nullptr;
  if (header_.broken.load() == epoch_) return " has left";
  // The leader takes helpers one by one, so a helper does not judge the status of another helper.
  if ((rank() == 0 || other == 0) && status != taken_in(epoch_)) return " has left";
  if (!region_.is_held(seat)) return " is gone";
  // It ended the round before, since this rank did, and it marks its desk before it ends this one.
  if (seen != round_ - 1) return " has sent a wrong round";
  return nullptr;
}

void Rounds::wait_for(std::int64_t other) {
  Arrival& arrival = header_.arrivals[static_cast<std::size_t>(other)];
  for (int look = 0; look < kLooks; ++look) {
    if (has_arrived(other)) return;
    breathe();
  }
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (true) {
    arrival.sleepers.fetch_add(1);
    const std::uint32_t seen = arrival.round.load();
    if (!has_arrived(other) && header_.broken.load() != epoch_) sleep_while(arrival.round, seen, kNap);
    arrival.sleepers.fetch_sub(1);
    if (has_arrived(other)) return;
    const char* why = fault_of(other);
    // All ranks were here if the leader has begun anew: this was the epoch's last round. Its memory is not as it was.
    if (rank() != 0 && header_.epoch.load() != epoch_) {
      is_over_ = true;
      return;
    }
    if (why == nullptr && std::chrono::steady_clock::now() > until) why = " is silent";
    if (why != nullptr) lose(other, why);
  }
}

void Rounds::lose(std::int64_t other, const char* why) {
  lost_ = true;
  leave();
  throw nn::PeersLost("rank " + std::to_string(other) + " of a shared step" + why);
}

}  // namespace lanista::train::wide
