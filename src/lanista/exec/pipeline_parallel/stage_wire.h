#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "lanista/base/result.h"
#include "lanista/exec/pipeline_parallel/stage_inbox.h"

// Messages between rank 0 of a pipeline and the processes of its other ranks.
namespace lanista::runtime {

/// The kinds of messages, as the number in a frame.
enum class StageWire : std::uint16_t {
  kTask = 60,      ///< A StageTask, which replaces the task before.
  kAccepted = 61,  ///< The rank waits for steps. Holds the task's number, as kRefused does (engine::with_token).
  kRefused = 62,   ///< The rank cannot serve. Holds the task's number and a text for people with the reason.
  // With separate memory:
  kBytes = 63,      ///< A StageBytes.
  kSignal = 64,     ///< A SignalMessage.
  kHeartbeat = 65,  ///< Empty; shows that the rank lives.
};

/// A range of a rank's memory as it is sent to another rank.
struct StageBytes {
  /// Most bytes of one message; longer ranges are split.
  static constexpr std::size_t kMaxBytes = std::size_t{256} << 10;

  std::uint32_t from = 0, to = 0;  ///< Sending and receiving rank.
  std::int64_t at = 0;             ///< Offset in bytes from the begin of the step memory.
  std::string_view bytes;          ///< Contents; after decoding, a view into the message.
  bool operator==(const StageBytes&) const = default;
};
/// Encodes bytes, little-endian: u32 from, u32 to, u64 at, the bytes.
std::string encode(const StageBytes& piece);
/// Decodes the message of encode(). Errors: kDataLoss (too short, too long, or an offset above 2^48).
Result<StageBytes> decode_stage_bytes(std::string_view text);

/// A signal and the rank that sends it.
struct SignalMessage {
  std::uint32_t from = 0;       ///< Sending rank.
  program::StageSignal signal;  ///< The signal.
  bool operator==(const SignalMessage&) const = default;
};
/// Encodes a signal, little-endian: u32 from, u8 kind, u8 is_forward, u16 zero, u32 stage, u32 pieces, the reason (cut
/// to 1024 bytes).
std::string encode(const SignalMessage& message);
/// Decodes the message of encode(). Errors: kDataLoss (too short, too long, an unknown kind, or a wrong number). Rank,
/// stage and pieces are not checked.
Result<SignalMessage> decode_stage_signal(std::string_view text);

}  // namespace lanista::runtime
