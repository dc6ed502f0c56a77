#include "lanista/ipc/frame_reader.h"

#include "lanista/base/frame.h"

namespace lanista::engine {
namespace {

constexpr std::size_t kChecksum = 4;

std::size_t length_of(std::string_view header) {
  std::size_t length = 0;
  for (std::size_t i = 4; i > 0; --i) length = length << 8 | static_cast<unsigned char>(header[i - 1]);
  return length;
}

std::uint16_t kind_of(std::string_view header) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(header[i])); };
  return static_cast<std::uint16_t>(byte(5) << 8 | byte(4));
}

}  // namespace

void FrameReader::feed(std::string_view bytes) {
  if (error_) return;
  if (position_ > bytes_.size() / 2) {
    bytes_.erase(0, position_);
    position_ = 0;
  }
  bytes_ += bytes;
}

Result<std::optional<Message>> FrameReader::next() {
  if (error_) return *error_;
  const std::string_view rest = std::string_view(bytes_).substr(position_);
  if (rest.size() < kFrameHeader) return std::optional<Message>();
  const std::size_t length = length_of(rest);
  const std::uint16_t kind = kind_of(rest);
  const std::size_t most = limit_ == nullptr ? kMaxBytes : limit_(kind);
  if (length > most) {
    error_ = Error{Code::kDataLoss,
                   "a message of " + std::to_string(length) + " bytes; allowed: up to " + std::to_string(most) +
                       (limit_ == nullptr ? "" : " for kind " + std::to_string(kind)),
                   ""};
    return *error_;
  }
  const std::size_t whole = kFrameHeader + length + kChecksum;
  if (rest.size() < whole) return std::optional<Message>();
  const auto frame = frame_at(rest, 0, kMaxBytes);
  if (!frame) {
    error_ = Error{Code::kDataLoss, "a message with bytes that do not match their checksum", ""};
    return *error_;
  }
  Message message{frame->type, std::string(frame->payload)};
  position_ += whole;
  return std::optional<Message>(std::move(message));
}

}  // namespace lanista::engine
