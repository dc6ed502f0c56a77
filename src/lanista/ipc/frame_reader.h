#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lanista/base/result.h"

namespace lanista::engine {

/// One message between the engine and a worker process, or between processes of a pipeline.
struct Message {
  std::uint16_t kind = 0;  ///< kind of the message, as the protocol of the channel numbers it
  std::string text;        ///< content, for the receiving program
  bool operator==(const Message&) const = default;
};

/// Splits a stream of bytes, which arrives in pieces of any size, into messages. They are frames as in base/frame.h.
/// After an invalid frame it refuses all later bytes, since the next frame could begin anywhere. It stores at most one
/// unfinished message. For one thread at a time.
class FrameReader {
 public:
  static constexpr std::size_t kMaxBytes = std::size_t{64} << 20;  ///< largest text of a message
  /// Returns the largest number of bytes that the text of a message of this kind may have; at most kMaxBytes.
  using LimitOfKind = std::size_t (*)(std::uint16_t kind);

  /// Adds bytes of the stream at its end. Amortised linear.
  void feed(std::string_view bytes);
  /// Returns the next whole message; no value if more bytes are needed. Errors: kDataLoss for a length above the limit,
  /// or bytes that do not match their checksum. Every later call returns the same error.
  Result<std::optional<Message>> next();
  /// True if every byte that was received is part of a message that next() has returned.
  bool empty() const { return position_ == bytes_.size(); }
  /// Sets the limits from the next message on; null: kMaxBytes for every kind. A longer message is refused when its
  /// header arrives, so that its text is never stored.
  void set_limit(LimitOfKind limit) { limit_ = limit; }

 private:
  std::string bytes_;
  std::size_t position_ = 0;  // bytes before it are consumed
  std::optional<Error> error_;
  LimitOfKind limit_ = nullptr;
};

}  // namespace lanista::engine
