#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lanista/base/result.h"
#include "lanista/ipc/frame_reader.h"

namespace lanista::engine {

/// One end of a connection over which messages go in both directions: a stream socket, or two pipes. send() never waits
/// for the other end to read, so that two ends that both write cannot wait for each other. It owns the descriptors.
/// Move-only; for one thread at a time.
class Channel {
 public:
  /// Reads from and writes to a connected stream socket, which may be blocking.
  explicit Channel(int socket) : Channel(socket, socket) {}
  /// Reads from descriptor `in` and writes to `out`. If they differ, both become non-blocking, and the process must
  /// ignore SIGPIPE.
  Channel(int in, int out);
  Channel(Channel&& other) noexcept;
  Channel& operator=(Channel&& other) noexcept;
  ~Channel();  ///< closes the connection, even where a forked process has a copy of the socket

  /// Queues a message and writes what the descriptor accepts at once. Later calls of send(), receive() or flush() write
  /// the rest. If the other end has closed, the message is lost without an error. A text above FrameReader::kMaxBytes
  /// is a bug of the caller.
  void send(std::uint16_t kind, std::string_view text);
  /// Returns the next message. No value if no message came within `seconds`, or if the channel is closed; closed() is
  /// true in the second case. With 0 it does not wait.
  std::optional<Message> receive(double seconds);
  /// Writes until all queued messages are written, the other end has closed, or `seconds` have passed.
  void flush(double seconds);
  /// True after receive() found that the other end has closed or sent invalid bytes. All messages before that were
  /// returned.
  bool closed() const { return is_closed_; }
  /// The reason why the channel is closed, if the other end sent invalid bytes. Otherwise no value.
  const std::optional<Error>& fault() const { return error_; }

  int socket() const { return socket_; }                  ///< descriptor for reading, still owned by this object
  int output_descriptor() const { return output_; }       ///< descriptor for writing; the same for a socket
  bool has_unsent() const { return unsent_bytes() > 0; }  ///< true: send() queued bytes that are not written yet
  /// The number of bytes that send() queued and that are not written yet.
  std::size_t unsent_bytes() const { return send_buffer_.size() - num_written_; }
  /// Sets the size limits for messages that are received from now on (FrameReader::set_limit).
  void set_limit(FrameReader::LimitOfKind limit) { reader_.set_limit(limit); }
  /// True if bytes were read that receive() has not returned as a message yet, such as a part of a message.
  bool has_unread() const { return !reader_.empty(); }

 private:
  void poll_once(int milliseconds);
  void read_available();
  void write_available();

  int socket_;
  int output_;  // the same as socket_ for a socket
  FrameReader reader_;
  std::string send_buffer_;
  std::size_t num_written_ = 0;  // bytes of send_buffer_
  bool is_input_ended_ = false;
  bool is_closed_ = false;
  std::optional<Error> error_;
};

}  // namespace lanista::engine
