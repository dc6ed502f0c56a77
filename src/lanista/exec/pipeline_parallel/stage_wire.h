#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "lanista/base/result.h"
#include "lanista/exec/pipeline_parallel/stage_inbox.h"

// Messages between rank 0 of a pipeline and the processes of its other ranks.
namespace lanista::runtime {

/// The kinds of messages.
enum class StageWire : std::uint16_t {
  kTask = 60,      ///< A StageTask, which replaces the task before.
  kAccepted = 61,  ///< The rank waits for steps. Holds the task's number, as all answers (engine::with_token).
  kRefused = 62,   ///< The rank cannot serve. A text with the reason.
  // With separate memory:
  kBytes = 63,      ///< A StageBytes.
  kSignal = 64,     ///< A SignalMessage.
  kHeartbeat = 65,  ///< The rank lives.
};

/// A range of a rank's memory as it is sent to another rank.
struct StageBytes {
  static constexpr std::size_t kMaxBytes = std::size_t{256} << 10;  ///< bytes; longer ranges are split

  std::uint32_t from = 0, to = 0;  ///< ranks
  std::int64_t at = 0;             ///< offset in the memory
  std::string_view bytes;          ///< view into the decoded text
  bool operator==(const StageBytes&) const = default;
};
/// Encodes bytes, little-endian: u32 from, u32 to, u64 at, the bytes.
std::string encode(const StageBytes& piece);
/// Decodes bytes. Errors: kDataLoss (too short, too long, or a negative offset).
Result<StageBytes> decode_stage_bytes(std::string_view text);

/// A signal with its sender.
struct SignalMessage {
  std::uint32_t from = 0;
  nn::StageSignal signal;
  bool operator==(const SignalMessage&) const = default;
};
/// Encodes a signal, little-endian: u32 from, u8 kind, u8 is_forward, u16 zero, u32 stage, u32 pieces, the reason.
std::string encode(const SignalMessage& message);
/// Decodes a signal. Errors: kDataLoss (not a signal).
Result<SignalMessage> decode_stage_signal(std::string_view text);

}  // namespace lanista::runtime
