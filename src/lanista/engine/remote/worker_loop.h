#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "lanista/base/result.h"
#include "lanista/engine/core/executor.h"
#include "lanista/engine/remote/worker_config.h"
#include "lanista/ipc/channel.h"

namespace lanista::engine {

/// Reports to the engine the trials in the steps that are computed from now on, so that it knows which ones a crash
/// concerns. Thread-safe.
using ReportActiveTrials = std::function<void(std::span<const TrialId>)>;

/// Makes the executor of a worker process. Objects that it needs live as long.
using MakeWorkerExecutor = std::function<Result<std::shared_ptr<Executor>>(const WorkerConfig&, ReportActiveTrials)>;

/// Runs a worker process: connects to the engine's socket, receives its configuration, and executes requests until the
/// engine is gone or silent for thirty leases. A second thread sends heartbeats. Errors: kNotFound and kIo (no engine),
/// kFailedPrecondition (the engine refused the worker; the text has the reason), those of `make_executor`, kDataLoss
/// (an invalid request).
Result<void> run_worker(const std::string& socket, const MakeWorkerExecutor& make_executor);
/// Runs a worker process on an open connection.
Result<void> run_worker(Channel channel, const MakeWorkerExecutor& make_executor);

}  // namespace lanista::engine
