#pragma once

#include "lanista/base/result.h"
#include "lanista/ipc/channel.h"

namespace lanista::runtime {

/// Serves one rank of another process's pipelines (StageProcessPool), until the connection ends.
///
/// It receives a task, compiles its program, answers kAccepted or kRefused (StageWire), and runs the rank's passes of
/// every step until the next task. After kRefused it waits for the next task. Errors: kDataLoss (a message of unknown
/// kind, a malformed task, or a broken protocol).
Result<void> serve_stages(engine::Channel channel);

}  // namespace lanista::runtime
