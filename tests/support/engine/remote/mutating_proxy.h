#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lanista/base/rng.h"
#include "lanista/engine/remote/worker_loop.h"
#include "lanista/ipc/channel.h"
#include "lanista/ipc/worker_process.h"

// For tests: a proxy between an engine and a worker, which changes what the worker sends.
namespace lanista::engine::testing {

/// Change that a proxy makes to a message of its worker.
enum class MessageFault {
  kValue,             ///< A value of the JSON text is changed or missing.
  kBits,              ///< One bit of the text.
  kNumber,            ///< The message's number, or its lease's token.
  kKind,              ///< The kind.
  kDrop,              ///< The message is missing.
  kRepeat,            ///< It arrives twice.
  kRepeatRenumbered,  ///< It arrives twice, and the numbers of all messages fit.
  kSwap,              ///< It arrives after the next one.
  kSwapRenumbered,    ///< It arrives after the next one, and the numbers fit.
  kDelay,             ///< It arrives late, and so do those after it; an honest worker may do this.
  kExtra,             ///< A message that is not due, and the numbers fit.
  kTrailingBytes,     ///< Bytes after the text.
  kEmpty,             ///< No text.
  kOversized,         ///< 9 MiB of text.
  kChecksum,          ///< The frame's checksum.
  kGiantLength,       ///< The frame's length is 4 GiB.
  kTruncatedFrame,    ///< The frame is cut, and the next one follows.
  kEndlessFrame,      ///< The frame never ends.
  kGarbage,           ///< Bytes that are not a frame.
};
inline constexpr int kNumMessageFaults = static_cast<int>(MessageFault::kGarbage) + 1;

struct Mutation {
  std::uint64_t seed = 0;
  MessageFault fault = MessageFault::kValue;
  std::int64_t at = 0;  ///< Number of the message; its hello has number 0.
  /// A file that the first mutating process creates; later processes are honest. Empty: every process mutates.
  std::string marker_file = {};
};

/// A worker and its proxy in one process.
LaunchWorker launch_with_mutated_messages(MakeWorkerExecutor make, Mutation mutation);

}  // namespace lanista::engine::testing
