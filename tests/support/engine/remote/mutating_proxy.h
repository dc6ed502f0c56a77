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
enum class Wrong {
  kValue,        ///< a value of the JSON text is another, or is missing
  kBits,         ///< one bit of the text
  kNumber,       ///< the message's number, or its lease's token
  kKind,         ///< the kind
  kDrop,         ///< the message is missing
  kRepeat,       ///< it arrives twice
  kRepeatAgain,  ///< it arrives twice, and the numbers of all messages fit
  kSwap,         ///< it arrives after the next one
  kSwapAgain,    ///< it arrives after the next one, and the numbers fit
  kDelay,        ///< it arrives late, and so do those after it; an honest worker may do this
  kExtra,        ///< a message that is not due, and the numbers fit
  kTail,         ///< bytes after the text
  kEmpty,        ///< no text
  kLong,         ///< 9 MiB of text
  kChecksum,     ///< the frame's checksum
  kGiant,        ///< the frame's length is 4 GiB
  kCut,          ///< the frame is cut, and the next one follows
  kTrickle,      ///< the frame never ends
  kGarbage,      ///< bytes that are no frame
};
inline constexpr int kWrongs = static_cast<int>(Wrong::kGarbage) + 1;

struct Mutation {
  std::uint64_t seed = 0;
  Wrong wrong = Wrong::kValue;
  std::int64_t at = 0;  ///< number of the message, its hello is 0
  /// A file that the first process makes which mutates; later ones are honest. Empty: every process mutates.
  std::string once = {};
};

/// A worker process behind a proxy, which is the same process.
LaunchWorker launch_mutating(MakeWorker make, Mutation mutation);

}  // namespace lanista::engine::testing
