#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lanista/base/result.h"

namespace lanista::engine {

/// One message between engine and worker process, apart from the stream that it came in.
struct Message {
  std::uint16_t kind = 0;
  std::string text;
  bool operator==(const Message&) const = default;
};

/// Cuts a stream of bytes, in whatever pieces they come, into messages: frames as in base/frame.h. What is no frame is
/// refused for good, since nobody knows where the next one begins. Holds one unfinished message at most.
class FrameReader {
 public:
  static constexpr std::size_t kMaxBytes = std::size_t{64} << 20;  ///< of a message's text
  /// The most bytes that the text of a message of this kind may have; at most kMaxBytes.
  using LimitOfKind = std::size_t (*)(std::uint16_t kind);

  /// More of the stream. Amortised linear.
  void feed(std::string_view bytes);
  /// The next whole message; none: more bytes are needed. Errors: kDataLoss (a length above kMaxBytes, or bytes that
  /// do not match their checksum), from then on for ever.
  Result<std::optional<Message>> next();
  bool empty() const { return position_ == bytes_.size(); }
  /// The limits from the next message on; null: kMaxBytes for every kind. A longer message is refused when its header
  /// is there, so that its text is never stored.
  void set_limit(LimitOfKind limit) { limit_ = limit; }

 private:
  std::string bytes_;
  std::size_t position_ = 0;  // those before were read
  std::optional<Error> error_;
  LimitOfKind limit_ = nullptr;
};

}  // namespace lanista::engine
