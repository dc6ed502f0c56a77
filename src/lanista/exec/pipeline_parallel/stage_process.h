#pragma once

#include "lanista/base/result.h"
#include "lanista/ipc/channel.h"

namespace lanista::runtime {

/// The life of a process at a place of another one's pipelines (StageProcessPool): hears what the program is, makes it anew,
/// and does its part of every step, until it hears of another one, or the other process is gone. Errors: kDataLoss
/// (what it heard is no task).
Result<void> serve_stages(engine::Channel channel);

}  // namespace lanista::runtime
