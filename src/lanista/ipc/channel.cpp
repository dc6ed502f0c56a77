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

Channel::Channel(int in, int out) : socket_(in), to_(out) {
  if (in == out) return;
  for (const int end : {in, out}) ::fcntl(end, F_SETFL, ::fcntl(end, F_GETFL) | O_NONBLOCK);
}

Channel::Channel(Channel&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)),
      to_(std::exchange(other.to_, -1)),
      in_(std::move(other.in_)),
      out_(std::move(other.out_)),
      written_(std::exchange(other.written_, 0)),
      ended_(other.ended_),
      gone_(other.gone_),
      fault_(std::move(other.fault_)) {}

Channel& Channel::operator=(Channel&& other) noexcept {
  std::swap(socket_, other.socket_);
  std::swap(to_, other.to_);
  std::swap(in_, other.in_);
  std::swap(out_, other.out_);
  std::swap(written_, other.written_);
  std::swap(ended_, other.ended_);
  std::swap(gone_, other.gone_);
  std::swap(fault_, other.fault_);
  return *this;
}

Channel::~Channel() {
  if (socket_ < 0) return;
  ::shutdown(socket_, SHUT_RDWR);
  ::close(socket_);
  if (to_ != socket_) ::close(to_);
}

void Channel::send(std::uint16_t kind, std::string_view text) {
  LANISTA_CHECK(text.size() <= FrameReader::kMostBytes, "a message of " + std::to_string(text.size()) + " bytes");
  encode_frame(kind, text, out_);
  pump(0);
}

std::optional<Message> Channel::receive(double seconds) {
  const auto until = from_now(seconds);
  for (bool looked = false;; looked = true) {
    auto message = in_.next();
    if (!message) {
      fault_ = std::move(message).error();
      gone_ = true;
    }
    if (gone_) return std::nullopt;
    if (*message) return **std::move(message);
    if (ended_) gone_ = true;  // with half a message, perhaps
    const int left = milliseconds_until(until);
    if (gone_ || (looked && left <= 0)) return std::nullopt;
    pump(left);
  }
}

void Channel::flush(double seconds) {
  const auto until = from_now(seconds);
  while (has_more_to_write() && !ended_ && Steady::now() < until) pump(std::min(milliseconds_until(until), 100));
}

// Reads and writes what can be read and written; where that is nothing, waits for something.
void Channel::pump(int milliseconds) {
  if (ended_) return;
  const short writes = has_more_to_write() ? POLLOUT : 0;
  const bool is_one = to_ == socket_;
  std::array<pollfd, 2> ends{pollfd{socket_, static_cast<short>(is_one ? POLLIN | writes : POLLIN), 0},
                             pollfd{to_, writes, 0}};
  if (::poll(ends.data(), is_one || writes == 0 ? 1 : 2, milliseconds) <= 0) return;
  if ((ends[0].revents & (POLLIN | POLLHUP | POLLERR)) != 0) read_what_is_there();
  if (((is_one ? ends[0] : ends[1]).revents & (POLLOUT | (is_one ? 0 : POLLERR))) != 0) write_what_fits();
}

void Channel::write_what_fits() {
  if (!has_more_to_write()) return;
  const char* const from = out_.data() + written_;
  const std::size_t size = out_.size() - written_;
  const ssize_t put = to_ == socket_ ? ::send(to_, from, size, MSG_DONTWAIT | MSG_NOSIGNAL) : ::write(to_, from, size);
  if (put > 0) written_ += static_cast<std::size_t>(put);
  if (put < 0 && errno == EPIPE && to_ != socket_) ended_ = true;  // of a socket reading tells it
  // Whoever always has some more to write does not move the rest each time.
  if (written_ <= out_.size() / 2) return;
  out_.erase(0, written_);
  written_ = 0;
}

void Channel::read_what_is_there() {
  std::array<char, 65536> bytes;
  const ssize_t got = to_ == socket_ ? ::recv(socket_, bytes.data(), bytes.size(), MSG_DONTWAIT)
                                     : ::read(socket_, bytes.data(), bytes.size());
  if (got > 0) return in_.feed({bytes.data(), static_cast<std::size_t>(got)});
  const bool later = got < 0 && (errno == EAGAIN || errno == EINTR);
  if (!later) ended_ = true;
}

}  // namespace lanista::engine
