#pragma once

#include "lanista/base/result.h"
#include "lanista/ipc/channel.h"

namespace lanista::runtime {

/// Serves one rank of another process's pipelines (StageProcessPool), until the connection ends.
///
/// It receives a task, compiles its program, and runs the rank's passes of every step until the next task. Errors:
/// kDataLoss (the message is not a valid task).
Result<void> serve_stages(engine::Channel channel);

}  // namespace lanista::runtime
