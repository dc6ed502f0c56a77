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

/// Reports to the engine the trials in the steps that are computed from now on, so that a crash is attributed to them.
/// Thread-safe.
using ReportActiveTrials = std::function<void(std::span<const TrialId>)>;

/// Makes the executor of a worker process from its configuration. The returned pointer also owns the objects that the
/// executor needs.
using MakeWorkerExecutor = std::function<Result<std::shared_ptr<Executor>>(const WorkerConfig&, ReportActiveTrials)>;

/// Runs a worker process: connects to the engine's socket at this path, receives its configuration, and executes
/// requests. It returns when the engine is gone or silent for thirty leases. A second thread sends heartbeats.
///
/// If its executor fails, it sends the error to the engine and returns without an error. Errors: kNotFound and kIo
/// (no engine), kUnavailable (no answer to its hello), kFailedPrecondition (the engine refused the worker; the text has
/// the reason), kDataLoss (an invalid request), those of `make_executor`.
Result<void> run_worker(const std::string& socket, const MakeWorkerExecutor& make_executor);
/// Runs a worker process on an open connection to the engine. It ends when the engine is gone or silent for thirty
/// leases. It also ends when its executor fails. Errors: kUnavailable (no answer to its hello), kFailedPrecondition
/// (the engine refused the worker), kDataLoss (an invalid request), those of `make_executor`.
Result<void> run_worker(Channel channel, const MakeWorkerExecutor& make_executor);

}  // namespace lanista::engine
