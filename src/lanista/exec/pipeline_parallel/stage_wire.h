#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "lanista/base/result.h"
#include "lanista/exec/pipeline_parallel/stage_inbox.h"

// What is said between a process and those at the other places of its pipelines.
namespace lanista::runtime {

enum class StageWire : std::uint16_t {
  kTask = 60,     ///< a StageTask; whatever was done before is over
  kAccepted = 61,    ///< the place is waiting for steps; the task's number, as all answers (engine::with_token)
  kRefused = 62,  ///< why it cannot be; a text
  // Where places do not see each other's memory:
  kBytes = 63,  ///< a StageBytes
  kSignal = 64,   ///< a SignalMessage
  kHeartbeat = 65,   ///< this place lives
};

/// A piece of a place's memory, as another place is told it.
struct StageBytes {
  static constexpr std::size_t kMaxBytes = std::size_t{256} << 10;  ///< of a message; more come in several

  std::uint32_t from = 0, to = 0;
  std::int64_t at = 0;
  std::string_view bytes;  ///< points into the text that was read
  bool operator==(const StageBytes&) const = default;
};
/// Little-endian: u32 from, u32 to, u64 at, the bytes.
std::string encode(const StageBytes& piece);
/// The inverse. Errors: kDataLoss (too short, too long, or a place in memory that none is).
Result<StageBytes> decode_stage_bytes(std::string_view text);

struct SignalMessage {
  std::uint32_t from = 0;
  nn::StageSignal signal;
  bool operator==(const SignalMessage&) const = default;
};
/// Little-endian: u32 from, u8 kind, u8 forth, u16 zero, u32 stage, u32 pieces, a text.
std::string encode(const SignalMessage& message);
/// The inverse. Errors: kDataLoss (what is no word).
Result<SignalMessage> decode_stage_signal(std::string_view text);

}  // namespace lanista::runtime
