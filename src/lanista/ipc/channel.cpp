#include "lanista/ipc/channel.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <utility>

#include "lanista/base/check.h"
#include "lanista/base/frame.h"

namespace lanista::engine {
namespace {

using Steady = std::chrono::steady_clock;

Steady::time_point from_now(double seconds) {
  return Steady::now() + std::chrono::duration_cast<Steady::duration>(std::chrono::duration<double>(seconds));
}

int milliseconds_until(Steady::time_point moment) {
  const std::chrono::duration<double, std::milli> left = moment - Steady::now();
  return static_cast<int>(std::clamp(std::ceil(left.count()), 0.0, 1e6));
}

}  // namespace

Channel::Channel(int in, int out) : socket_(in), output_(out) {
  if (in == out) return;
  for (const int end : {in, out}) ::fcntl(end, F_SETFL, ::fcntl(end, F_GETFL) | O_NONBLOCK);
}

Channel::Channel(Channel&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)),
      output_(std::exchange(other.output_, -1)),
      reader_(std::move(other.reader_)),
      send_buffer_(std::move(other.send_buffer_)),
      num_written_(std::exchange(other.num_written_, 0)),
      is_input_ended_(other.is_input_ended_),
      is_closed_(other.is_closed_),
      error_(std::move(other.error_)) {}

Channel& Channel::operator=(Channel&& other) noexcept {
  std::swap(socket_, other.socket_);
  std::swap(output_, other.output_);
  std::swap(reader_, other.reader_);
  std::swap(send_buffer_, other.send_buffer_);
  std::swap(num_written_, other.num_written_);
  std::swap(is_input_ended_, other.is_input_ended_);
  std::swap(is_closed_, other.is_closed_);
  std::swap(error_, other.error_);
  return *this;
}

Channel::~Channel() {
  if (socket_ < 0) return;
  ::shutdown(socket_, SHUT_RDWR);
  ::close(socket_);
  if (output_ != socket_) ::close(output_);
}

void Channel::send(std::uint16_t kind, std::string_view text) {
  LANISTA_CHECK(text.size() <= FrameReader::kMaxBytes, "a message of " + std::to_string(text.size()) + " bytes");
  encode_frame(kind, text, send_buffer_);
  poll_once(0);
}

std::optional<Message> Channel::receive(double seconds) {
  const auto until = from_now(seconds);
  for (bool looked = false;; looked = true) {
    auto message = reader_.next();
    if (!message) {
      error_ = std::move(message).error();
      is_closed_ = true;
    }
    if (is_closed_) return std::nullopt;
    if (*message) return **std::move(message);
    if (is_input_ended_) is_closed_ = true;  // there may be a partial message
    const int left = milliseconds_until(until);
    if (is_closed_ || (looked && left <= 0)) return std::nullopt;
    poll_once(left);
  }
}

void Channel::flush(double seconds) {
  const auto until = from_now(seconds);
  while (has_unsent() && !is_input_ended_ && Steady::now() < until) poll_once(std::min(milliseconds_until(until), 100));
}

// Reads and writes as much as possible without waiting. If that is nothing, waits for an event.
void Channel::poll_once(int milliseconds) {
  if (is_input_ended_) return;
  const short writes = has_unsent() ? POLLOUT : 0;
  const bool is_one = output_ == socket_;
  std::array<pollfd, 2> ends{pollfd{socket_, static_cast<short>(is_one ? POLLIN | writes : POLLIN), 0},
                             pollfd{output_, writes, 0}};
  if (::poll(ends.data(), is_one || writes == 0 ? 1 : 2, milliseconds) <= 0) return;
  if ((ends[0].revents & (POLLIN | POLLHUP | POLLERR)) != 0) read_available();
  if (((is_one ? ends[0] : ends[1]).revents & (POLLOUT | (is_one ? 0 : POLLERR))) != 0) write_available();
}

void Channel::write_available() {
  if (!has_unsent()) return;
  const char* const from = send_buffer_.data() + num_written_;
  const std::size_t size = send_buffer_.size() - num_written_;
  const ssize_t put =
      output_ == socket_ ? ::send(output_, from, size, MSG_DONTWAIT | MSG_NOSIGNAL) : ::write(output_, from, size);
  if (put > 0) num_written_ += static_cast<std::size_t>(put);
  if (put < 0 && errno == EPIPE && output_ != socket_)
    is_input_ended_ = true;  // the end of a socket is found by reading
  // The rest is moved rarely, so that a writer with a constant backlog does not move it in each call.
  if (num_written_ <= send_buffer_.size() / 2) return;
  send_buffer_.erase(0, num_written_);
  num_written_ = 0;
}

void Channel::read_available() {
  std::array<char, 65536> bytes;
  const ssize_t got = output_ == socket_ ? ::recv(socket_, bytes.data(), bytes.size(), MSG_DONTWAIT)
                                         : ::read(socket_, bytes.data(), bytes.size());
  if (got > 0) return reader_.feed({bytes.data(), static_cast<std::size_t>(got)});
  const bool later = got < 0 && (errno == EAGAIN || errno == EINTR);
  if (!later) is_input_ended_ = true;
}

}  // namespace lanista::engine
