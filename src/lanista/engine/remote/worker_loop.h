#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "lanista/base/result.h"
#include "lanista/ipc/channel.h"
#include "lanista/engine/core/executor.h"
#include "lanista/engine/remote/worker_config.h"

namespace lanista::engine {

/// Tells the engine that the steps of these trials are computed from now on; from any thread. So the engine knows whom
/// a crash may be blamed on.
using ReportActiveTrials = std::function<void(std::span<const TrialId>)>;

/// Makes what a worker process obeys orders with; whatever else it needs lives as long.
using MakeWorkerExecutor = std::function<Result<std::shared_ptr<Executor>>(const WorkerConfig&, ReportActiveTrials)>;

/// The life of a worker process: knocks at the engine's socket, hears its brief, and does as it is told until the
/// engine is gone, or has been silent for thirty leases. Another thread tells the engine meanwhile that this process
/// lives. Errors: kNotFound and kIo (no engine), kFailedPrecondition (the engine does not want it: why), those of
/// `make_executor`, kDataLoss (what the engine said is no order).
Result<void> run_worker(const std::string& socket, const MakeWorkerExecutor& make_executor);
/// By a connection that is there.
Result<void> run_worker(Channel channel, const MakeWorkerExecutor& make_executor);

}  // namespace lanista::engine
