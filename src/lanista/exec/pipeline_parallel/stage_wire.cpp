#include "lanista/exec/pipeline_parallel/stage_wire.h"

#include <algorithm>

#include "lanista/base/little_endian.h"

namespace lanista::runtime {
namespace {

constexpr std::size_t kBytesHeaderSize = 16, kSignalHeaderSize = 16;
constexpr std::size_t kMaxReasonBytes = 1024;
constexpr std::int64_t kMaxMemoryBytes = std::int64_t{1} << 48;

Error malformed(const std::string& what) { return {Code::kDataLoss, "broken message of a rank: " + what, ""}; }

}  // namespace

std::string encode(const StageBytes& piece) {
  std::string out;
  out.reserve(kBytesHeaderSize + piece.bytes.size());
  put_little_endian(piece.from, 4, out);
  put_little_endian(piece.to, 4, out);
  put_little_endian(static_cast<std::uint64_t>(piece.at), 8, out);
  return out.append(piece.bytes);
}

Result<StageBytes> decode_stage_bytes(std::string_view text) {
  if (text.size() < kBytesHeaderSize || text.size() > kBytesHeaderSize + StageBytes::kMaxBytes) {
    return malformed(std::to_string(text.size()) +
                     " bytes for a memory range; allowed: " + std::to_string(kBytesHeaderSize) + " to " +
                     std::to_string(kBytesHeaderSize + StageBytes::kMaxBytes));
  }
  const std::uint64_t at = get_little_endian(text, 8, 8);
  if (at > static_cast<std::uint64_t>(kMaxMemoryBytes)) {
    return malformed("a memory range at " + std::to_string(at) + "; allowed: up to " + std::to_string(kMaxMemoryBytes));
  }
  return StageBytes{static_cast<std::uint32_t>(get_little_endian(text, 0, 4)),
                    static_cast<std::uint32_t>(get_little_endian(text, 4, 4)), static_cast<std::int64_t>(at),
                    text.substr(kBytesHeaderSize)};
}

std::string encode(const SignalMessage& message) {
  std::string out;
  put_little_endian(message.from, 4, out);
  put_little_endian(static_cast<std::uint64_t>(message.signal.kind), 1, out);
  put_little_endian(message.signal.is_forward ? 1 : 0, 1, out);
  put_little_endian(0, 2, out);
  put_little_endian(message.signal.stage, 4, out);
  put_little_endian(static_cast<std::uint64_t>(message.signal.pieces), 4, out);
  return out.append(message.signal.reason, 0, kMaxReasonBytes);
}

Result<SignalMessage> decode_stage_signal(std::string_view text) {
  if (text.size() < kSignalHeaderSize || text.size() > kSignalHeaderSize + kMaxReasonBytes) {
    return malformed(std::to_string(text.size()) + " bytes for a signal; allowed: " +
                     std::to_string(kSignalHeaderSize) + " to " + std::to_string(kSignalHeaderSize + kMaxReasonBytes));
  }
  const std::uint64_t kind = get_little_endian(text, 4, 1), forth = get_little_endian(text, 5, 1);
  if (kind > static_cast<std::uint64_t>(program::StageSignal::Kind::kStop) || forth > 1 ||
      get_little_endian(text, 6, 2) != 0) {
    return malformed("a signal of kind " + std::to_string(kind) + "; allowed: 0 to 3");
  }
  return SignalMessage{static_cast<std::uint32_t>(get_little_endian(text, 0, 4)),
                       {.kind = static_cast<program::StageSignal::Kind>(kind),
                        .is_forward = forth == 1,
                        .stage = static_cast<std::uint32_t>(get_little_endian(text, 8, 4)),
                        .pieces = static_cast<std::int64_t>(get_little_endian(text, 12, 4)),
                        .reason = std::string(text.substr(kSignalHeaderSize))}};
}

}  // namespace lanista::runtime
