#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "lanista/base/result.h"
#include "lanista/ipc/channel.h"
#include "lanista/engine/core/executor.h"
#include "lanista/engine/remote/worker_brief.h"

namespace lanista::engine {

/// Tells the engine that the steps of these trials are computed from now on; from any thread. So the engine knows whom
/// a crash may be blamed on.
using TellInHand = std::function<void(std::span<const TrialId>)>;

/// Makes what a worker process obeys orders with; whatever else it needs lives as long.
using MakeWorker = std::function<Result<std::shared_ptr<Executor>>(const WorkerBrief&, TellInHand)>;

/// The life of a worker process: knocks at the engine's socket, hears its brief, and does as it is told until the
/// engine is gone, or has been silent for thirty leases. Another thread tells the engine meanwhile that this process
/// lives. Errors: kNotFound and kIo (no engine), kFailedPrecondition (the engine does not want it: why), those of
/// `make`, kDataLoss (what the engine said is no order).
Result<void> work_for_engine(const std::string& socket, const MakeWorker& make);
/// By a connection that is there.
Result<void> work_for_engine(Channel channel, const MakeWorker& make);

}  // namespace lanista::engine
