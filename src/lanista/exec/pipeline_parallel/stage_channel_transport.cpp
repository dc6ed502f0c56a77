#include "lanista/exec/pipeline_parallel/stage_channel_transport.h"

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

constexpr int kHeartbeatMilliseconds = 1000;  // milliseconds

std::chrono::steady_clock::time_point now() { return std::chrono::steady_clock::now(); }

}  // namespace

StageChannelTransport::StageChannelTransport(program::StageMemoryMap map, std::byte* memory, std::uint32_t own,
                                             std::vector<engine::Channel*> channels, double heartbeat_timeout_s)
    : map_(std::move(map)),
      memory_(memory),
      own_rank_(own),
      heartbeat_timeout_(heartbeat_timeout_s),
      inbox_(map_, memory, own),
      channels_(std::move(channels)),
      wake_descriptor_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      last_received_(channels_.size(), now()),
      faults_(channels_.size()) {
  if (wake_descriptor_ < 0)
    throw std::system_error(errno, std::generic_category(), "no descriptor for the channels of a rank");
  thread_ = std::jthread([this](const std::stop_token& stop) { listen(stop); });
}

StageChannelTransport::~StageChannelTransport() {
  end();
  ::close(wake_descriptor_);
}

void StageChannelTransport::end() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  wake();
  thread_.join();
  for (auto& fault : faults_) fault = "is not connected";
}

void StageChannelTransport::wake() const {
  const std::uint64_t one = 1;
  static_cast<void>(!::write(wake_descriptor_, &one, sizeof(one)));  // if it is full, it is readable already
}

void StageChannelTransport::send(std::size_t end, StageWire kind, std::string_view text) {
  bool is_more = false;
  {
    const std::lock_guard lock(mutex_);
    if (faults_[end] || unread_) return;
    engine::Channel& channel = *channels_[end];
    channel.send(static_cast<std::uint16_t>(kind), text);
    is_more = channel.has_unsent() || channel.has_unread() || channel.closed();
  }
  if (is_more) wake();
}

void StageChannelTransport::send(const program::StageSignal& signal) {
  if (own_rank_ == 0 && signal.kind == program::StageSignal::Kind::kEnd) return;  // only for rank 0 itself
  const std::string text = encode(SignalMessage{own_rank_, signal});
  for (std::size_t end = 0; end < channels_.size(); ++end) send(end, StageWire::kSignal, text);
}

void StageChannelTransport::write(std::uint32_t rank, std::int64_t at, std::span<const std::byte> bytes) {
  const std::size_t end = own_rank_ == 0 ? rank - 1 : 0;
  const std::string_view all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  for (std::size_t begin = 0; begin < all.size(); begin += StageBytes::kMaxBytes) {
    wait_for_send_buffer(end);
    send(end, StageWire::kBytes,
         encode(StageBytes{own_rank_, rank, at + static_cast<std::int64_t>(begin),
                           all.substr(begin, StageBytes::kMaxBytes)}));
  }
}

// The other end receives at any time, so this wait ends.
void StageChannelTransport::wait_for_send_buffer(std::size_t end) {
  std::unique_lock lock(mutex_);
  bytes_sent_.wait(lock, [&] { return faults_[end] || unread_ || channels_[end]->unsent_bytes() <= kMaxUnsentBytes; });
}

std::optional<StageChannelTransport::Fault> StageChannelTransport::fault() {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find_if(faults_, [](const auto& each) { return each.has_value(); });
  if (found == faults_.end()) return std::nullopt;
  return Fault{static_cast<std::size_t>(found - faults_.begin()), **found};
}

bool StageChannelTransport::has_unread() {
  const std::lock_guard lock(mutex_);
  return unread_.has_value();
}

std::optional<engine::Message> StageChannelTransport::take_unread() {
  const std::lock_guard lock(mutex_);
  return std::exchange(unread_, std::nullopt);
}

void StageChannelTransport::listen(const std::stop_token& stop) {
  auto next_heartbeat = now();
  while (!stop.stop_requested()) {
    wait_for_io();
    for (std::size_t end = 0; end < channels_.size(); ++end) {
      bool keeps_listening = false;
      try {
        keeps_listening = receive_all(end);
      } catch (const std::exception& error) {  // such as std::bad_alloc
        const std::lock_guard lock(mutex_);
        faults_[end] = std::string("cannot be read: ") + error.what();
      }
      bytes_sent_.notify_all();
      if (keeps_listening) continue;
      futex_wake_all(*reinterpret_cast<SharedWord*>(memory_));  // a rank that waits for the next step
      if (own_rank_ != 0) return;
    }
    if (now() < next_heartbeat) continue;
    next_heartbeat = now() + std::chrono::milliseconds(kHeartbeatMilliseconds);
    exchange_heartbeats();
  }
}

void StageChannelTransport::wait_for_io() {
  std::vector<pollfd> polls{{wake_descriptor_, POLLIN, 0}};
  {
    const std::lock_guard lock(mutex_);
    for (std::size_t end = 0; end < channels_.size(); ++end) {
      if (faults_[end]) continue;
      const engine::Channel& channel = *channels_[end];
      polls.push_back({channel.socket(), POLLIN, 0});
      if (channel.has_unsent()) polls.push_back({channel.output_descriptor(), POLLOUT, 0});
    }
  }
  ::poll(polls.data(), polls.size(), kHeartbeatMilliseconds);
  std::uint64_t ignored = 0;
  static_cast<void>(!::read(wake_descriptor_, &ignored, sizeof(ignored)));
}

// Handles all received messages. Returns false if no more can arrive from there.
bool StageChannelTransport::receive_all(std::size_t end) {
  while (true) {
    std::optional<engine::Message> message;
    {
      const std::lock_guard lock(mutex_);
      if (faults_[end]) return true;
      message = channels_[end]->receive(0);
      if (!message && !channels_[end]->closed()) return true;
      last_received_[end] = now();
      if (!message) {
        faults_[end] = channels_[end]->fault() ? "sent " + channels_[end]->fault()->message : "";
        return false;
      }
    }
    const auto taken = handle_message(end, *message);
    const std::lock_guard lock(mutex_);
    if (!taken) faults_[end] = taken.error().message;
    if (!taken || unread_) return false;
  }
}

Result<void> StageChannelTransport::handle_message(std::size_t end, engine::Message& message) {
  switch (static_cast<StageWire>(message.kind)) {
    case StageWire::kHeartbeat:
      return {};
    case StageWire::kBytes:
      return handle_bytes(end, message);
    case StageWire::kSignal:
      return handle_signal(end, message);
    default:
      break;
  }
  if (own_rank_ == 0) {
    return Error{Code::kInvalidArgument, "sent an unexpected message of kind " + std::to_string(message.kind), ""};
  }
  const std::lock_guard lock(mutex_);
  unread_ = std::move(message);
  return {};
}

namespace {

Result<void> check_sender(std::uint32_t from, std::uint32_t sender) {
  if (from == sender) return {};
  return Error{Code::kInvalidArgument,
               "sends as rank " + std::to_string(from) + "; it is rank " + std::to_string(sender), ""};
}

}  // namespace

Result<void> StageChannelTransport::handle_bytes(std::size_t end, const engine::Message& message) {
  LANISTA_ASSIGN(const StageBytes piece, decode_stage_bytes(message.text));
  if (own_rank_ == 0) LANISTA_TRY(check_sender(piece.from, static_cast<std::uint32_t>(end) + 1));
  if (piece.to == own_rank_) return inbox_.write(piece.from, piece.at, piece.bytes);
  LANISTA_TRY(inbox_.check(piece.from, piece.to, piece.at, static_cast<std::int64_t>(piece.bytes.size())));
  if (own_rank_ != 0) {
    return Error{Code::kInvalidArgument,
                 "bytes for rank " + std::to_string(piece.to) + " arrived at rank " + std::to_string(own_rank_), ""};
  }
  send(piece.to - 1, StageWire::kBytes, message.text);
  return {};
}

Result<void> StageChannelTransport::handle_signal(std::size_t end, const engine::Message& message) {
  LANISTA_ASSIGN(const SignalMessage received, decode_stage_signal(message.text));
  if (own_rank_ == 0) LANISTA_TRY(check_sender(received.from, static_cast<std::uint32_t>(end) + 1));
  LANISTA_TRY(inbox_.receive(received.from, received.signal));
  if (own_rank_ != 0 || received.signal.kind == program::StageSignal::Kind::kEnd) return {};
  for (std::size_t other = 0; other < channels_.size(); ++other) {
    if (other != end) send(other, StageWire::kSignal, message.text);
  }
  return {};
}

// Other ranks send a heartbeat regularly; rank 0 checks that they do.
void StageChannelTransport::exchange_heartbeats() {
  if (own_rank_ != 0) return send(0, StageWire::kHeartbeat, "");
  const std::lock_guard lock(mutex_);
  for (std::size_t end = 0; end < channels_.size(); ++end) {
    if (faults_[end] || now() - last_received_[end] < heartbeat_timeout_) continue;
    faults_[end] =
        "was silent for " + std::to_string(static_cast<std::int64_t>(heartbeat_timeout_.count())) + " seconds";
  }
  bytes_sent_.notify_all();
}

}  // namespace lanista::runtime
