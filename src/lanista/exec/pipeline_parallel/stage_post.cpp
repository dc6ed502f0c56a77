#include "lanista/exec/pipeline_parallel/stage_post.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <system_error>
#include <utility>

#include "lanista/base/futex.h"

namespace lanista::runtime {
namespace {

constexpr int kBeat = 1000;  // milliseconds

std::chrono::steady_clock::time_point now() { return std::chrono::steady_clock::now(); }

}  // namespace

StagePost::StagePost(nn::StageMap map, std::byte* memory, std::uint32_t own, std::vector<engine::Channel*> ends,
                     double patience)
    : map_(std::move(map)),
      memory_(memory),
      own_(own),
      patience_(patience),
      inbox_(map_, memory, own),
      ends_(std::move(ends)),
      woken_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      last_heard_(ends_.size(), now()),
      faults_(ends_.size()) {
  if (woken_ < 0) throw std::system_error(errno, std::generic_category(), "no descriptor for a place's channels");
  thread_ = std::jthread([this](const std::stop_token& stop) { listen(stop); });
}

StagePost::~StagePost() {
  end();
  ::close(woken_);
}

void StagePost::end() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  wake();
  thread_.join();
  for (auto& fault : faults_) fault = "is not spoken with";
}

void StagePost::wake() const {
  const std::uint64_t one = 1;
  static_cast<void>(!::write(woken_, &one, sizeof(one)));  // if it is full, it can be read
}

void StagePost::send(std::size_t end, StageWire kind, std::string_view text) {
  bool is_more = false;
  {
    const std::lock_guard lock(mutex_);
    if (faults_[end] || heard_) return;
    engine::Channel& channel = *ends_[end];
    channel.send(static_cast<std::uint16_t>(kind), text);
    is_more = channel.has_more_to_write() || channel.has_heard() || channel.closed();
  }
  if (is_more) wake();
}

void StagePost::say(const nn::StageWord& word) {
  if (own_ == 0 && word.kind == nn::StageWord::Kind::kEnd) return;  // the first place's own affair
  const std::string text = encode(SpokenWord{own_, word});
  for (std::size_t end = 0; end < ends_.size(); ++end) send(end, StageWire::kWord, text);
}

void StagePost::put(std::uint32_t place, std::int64_t at, std::span<const std::byte> bytes) {
  const std::size_t end = own_ == 0 ? place - 1 : 0;
  const std::string_view all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  for (std::size_t begin = 0; begin < all.size(); begin += StageBytes::kMost) {
    wait_for_room(end);
    send(end, StageWire::kBytes,
         encode(StageBytes{own_, place, at + static_cast<std::int64_t>(begin), all.substr(begin, StageBytes::kMost)}));
  }
}

// Whoever is at the other end listens whatever its place does, so this comes to an end.
void StagePost::wait_for_room(std::size_t end) {
  std::unique_lock lock(mutex_);
  gone_out_.wait(lock, [&] { return faults_[end] || heard_ || ends_[end]->to_write() <= kMostKept; });
}

std::optional<StagePost::Fault> StagePost::fault() {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find_if(faults_, [](const auto& each) { return each.has_value(); });
  if (found == faults_.end()) return std::nullopt;
  return Fault{static_cast<std::size_t>(found - faults_.begin()), **found};
}

bool StagePost::has_heard() {
  const std::lock_guard lock(mutex_);
  return heard_.has_value();
}

std::optional<engine::Message> StagePost::take_heard() {
  const std::lock_guard lock(mutex_);
  return std::exchange(heard_, std::nullopt);
}

void StagePost::listen(const std::stop_token& stop) {
  auto beat_at = now();
  while (!stop.stop_requested()) {
    wait_for_news();
    for (std::size_t end = 0; end < ends_.size(); ++end) {
      bool goes_on = false;
      try {
        goes_on = hear_all(end);
      } catch (const std::exception& error) {  // no memory, say
        const std::lock_guard lock(mutex_);
        faults_[end] = std::string("cannot be heard: ") + error.what();
      }
      gone_out_.notify_all();
      if (goes_on) continue;
      wake_all(*reinterpret_cast<SharedWord*>(memory_));  // who waits for the next step
      if (own_ != 0) return;
    }
    if (now() < beat_at) continue;
    beat_at = now() + std::chrono::milliseconds(kBeat);
    beat();
  }
}

void StagePost::wait_for_news() {
  std::vector<pollfd> polls{{woken_, POLLIN, 0}};
  {
    const std::lock_guard lock(mutex_);
    for (std::size_t end = 0; end < ends_.size(); ++end) {
      if (faults_[end]) continue;
      const engine::Channel& channel = *ends_[end];
      polls.push_back({channel.socket(), POLLIN, 0});
      if (channel.has_more_to_write()) polls.push_back({channel.writes_to(), POLLOUT, 0});
    }
  }
  ::poll(polls.data(), polls.size(), kBeat);
  std::uint64_t ignored = 0;
  static_cast<void>(!::read(woken_, &ignored, sizeof(ignored)));
}

// False: no more is to be heard from there.
bool StagePost::hear_all(std::size_t end) {
  while (true) {
    std::optional<engine::Message> message;
    {
      const std::lock_guard lock(mutex_);
      if (faults_[end]) return true;
      message = ends_[end]->receive(0);
      if (!message && !ends_[end]->closed()) return true;
      last_heard_[end] = now();
      if (!message) {
        faults_[end] = ends_[end]->fault() ? "says " + ends_[end]->fault()->message : "";
        return false;
      }
    }
    const auto taken = take(end, *message);
    const std::lock_guard lock(mutex_);
    if (!taken) faults_[end] = taken.error().message;
    if (!taken || heard_) return false;
  }
}

Result<void> StagePost::take(std::size_t end, engine::Message& message) {
  switch (static_cast<StageWire>(message.kind)) {
    case StageWire::kBeat:
      return {};
    case StageWire::kBytes:
      return take_bytes(end, message);
    case StageWire::kWord:
      return take_word(end, message);
    default:
      break;
  }
  if (own_ == 0) {
    return Error{Code::kInvalidArgument,
                 "said what nobody asked for: a message of kind " + std::to_string(message.kind), ""};
  }
  const std::lock_guard lock(mutex_);
  heard_ = std::move(message);
  return {};
}

namespace {

Result<void> check_speaker(std::uint32_t from, std::uint32_t speaker) {
  if (from == speaker) return {};
  return Error{Code::kInvalidArgument,
               "speaks as place " + std::to_string(from) + "; it is place " + std::to_string(speaker), ""};
}

}  // namespace

Result<void> StagePost::take_bytes(std::size_t end, const engine::Message& message) {
  LANISTA_ASSIGN(const StageBytes piece, decode_stage_bytes(message.text));
  if (own_ == 0) LANISTA_TRY(check_speaker(piece.from, static_cast<std::uint32_t>(end) + 1));
  if (piece.to == own_) return inbox_.put(piece.from, piece.at, piece.bytes);
  LANISTA_TRY(inbox_.check(piece.from, piece.to, piece.at, static_cast<std::int64_t>(piece.bytes.size())));
  if (own_ != 0) {
    return Error{Code::kInvalidArgument,
                 "bytes for place " + std::to_string(piece.to) + " came to place " + std::to_string(own_), ""};
  }
  send(piece.to - 1, StageWire::kBytes, message.text);
  return {};
}

Result<void> StagePost::take_word(std::size_t end, const engine::Message& message) {
  LANISTA_ASSIGN(const SpokenWord spoken, decode_spoken_word(message.text));
  if (own_ == 0) LANISTA_TRY(check_speaker(spoken.from, static_cast<std::uint32_t>(end) + 1));
  LANISTA_TRY(inbox_.hear(spoken.from, spoken.word));
  if (own_ != 0 || spoken.word.kind == nn::StageWord::Kind::kEnd) return {};
  for (std::size_t other = 0; other < ends_.size(); ++other) {
    if (other != end) send(other, StageWire::kWord, message.text);
  }
  return {};
}

// Other places say now and then that they live; the first one looks whether they do.
void StagePost::beat() {
  if (own_ != 0) return send(0, StageWire::kBeat, "");
  const std::lock_guard lock(mutex_);
  for (std::size_t end = 0; end < ends_.size(); ++end) {
    if (faults_[end] || now() - last_heard_[end] < patience_) continue;
    faults_[end] = "says nothing for " + std::to_string(static_cast<std::int64_t>(patience_.count())) + " seconds";
  }
  gone_out_.notify_all();
}

}  // namespace lanista::runtime
