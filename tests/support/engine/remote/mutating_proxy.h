#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lanista/base/rng.h"
#include "lanista/ipc/channel.h"
#include "lanista/engine/remote/worker_loop.h"
#include "lanista/ipc/worker_process.h"

// For tests: a proxy between an engine and a worker, which changes what the worker sends.
namespace lanista::engine::testing {

/// What a proxy does to the messages of its worker.
enum class MessageFault {
  kValue,        ///< a value of the JSON text is another, or is missing
  kBits,         ///< one bit of the text
  kNumber,       ///< the message's number, or its lease's token
  kKind,         ///< the kind
  kDrop,         ///< the message is missing
  kRepeat,       ///< it arrives twice
  kRepeatRenumbered,  ///< it arrives twice, and the numbers of all messages fit
  kSwap,         ///< it arrives after the next one
  kSwapRenumbered,    ///< it arrives after the next one, and the numbers fit
  kDelay,        ///< it arrives late, and so do those after it; an honest worker may do this
  kExtra,        ///< a message that is not due, and the numbers fit
  kTrailingBytes,         ///< bytes after the text
  kEmpty,        ///< no text
  kOversized,         ///< 9 MiB of text
  kChecksum,     ///< the frame's checksum
  kGiantLength,        ///< the frame's length is 4 GiB
  kTruncatedFrame,          ///< the frame is cut, and the next one follows
  kEndlessFrame,      ///< the frame never ends
  kGarbage,      ///< bytes that are no frame
};
inline constexpr int kNumMessageFaults = static_cast<int>(MessageFault::kGarbage) + 1;

struct Mutation {
  std::uint64_t seed = 0;
  MessageFault fault = MessageFault::kValue;
  std::int64_t at = 0;  ///< number of the message, its hello is 0
  /// A file that the first process makes which mutates; later ones are honest. Empty: every process mutates.
  std::string marker_file = {};
};

/// A worker process behind a proxy, which is the same process.
LaunchWorker launch_with_mutated_messages(MakeWorkerExecutor make, Mutation mutation);

}  // namespace lanista::engine::testing
