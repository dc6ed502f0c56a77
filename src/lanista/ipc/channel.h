#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lanista/base/result.h"
#include "lanista/ipc/frame_reader.h"

namespace lanista::engine {

/// One end of a stream socket, or of two pipes, over which messages go both ways. Neither end waits for the other to
/// read, so that two who both write do not wait for ever. Move-only; one thread at a time.
class Channel {
 public:
  explicit Channel(int socket) : Channel(socket, socket) {}
  /// Descriptors that are read from and written to. If they are two, they become non-blocking, and whoever has them
  /// ignores SIGPIPE.
  Channel(int in, int out);
  Channel(Channel&& other) noexcept;
  Channel& operator=(Channel&& other) noexcept;
  ~Channel();  ///< the other end sees it, even where a forked process has a copy of the socket

  /// What does not go out at once goes with a later call. A message above FrameReader::kMaxBytes is our bug.
  void send(std::uint16_t kind, std::string_view text);
  /// The next message; none: nothing came within `seconds`, or the other end is gone.
  std::optional<Message> receive(double seconds);
  /// Waits until all is written that was sent, or the other end is gone, or `seconds` have passed.
  void flush(double seconds);
  /// The other end is gone, or said what is no message; and all that it said before was heard.
  bool closed() const { return is_closed_; }
  /// Why it is closed, where that is what the other end said.
  const std::optional<Error>& fault() const { return error_; }

  int socket() const { return socket_; }  ///< that is read from
  int output_descriptor() const { return output_; }   ///< the same, if it is a socket
  bool has_unsent() const { return unsent_bytes() > 0; }
  std::size_t unsent_bytes() const { return send_buffer_.size() - num_written_; }  ///< bytes that were sent and have not gone out
  /// Limits for messages that are received from now on (FrameReader::set_limit).
  void set_limit(FrameReader::LimitOfKind limit) { reader_.set_limit(limit); }
  /// Something was read that `receive` has not given.
  bool has_unread() const { return !reader_.empty(); }

 private:
  void poll_once(int milliseconds);
  void read_available();
  void write_available();

  int socket_;
  int output_;  // where it is written to; the same, if that is a socket
  FrameReader reader_;
  std::string send_buffer_;
  std::size_t num_written_ = 0;  // of it
  bool is_input_ended_ = false;  // nothing more comes
  bool is_closed_ = false;
  std::optional<Error> error_;
};

}  // namespace lanista::engine
