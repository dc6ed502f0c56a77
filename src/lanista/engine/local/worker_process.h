#pragma once

#include <string>

#include "lanista/base/result.h"
#include "lanista/engine/remote/worker_config.h"
#include "lanista/engine/remote/worker_loop.h"
#include "lanista/exec/program/opaque.h"

namespace lanista::runtime {

/// Gives the function that makes the executor of a worker process: a WorkerExecutor on the configured data, opened in
/// the worker. `operators` are the caller's own operators, which a configuration cannot hold. Errors of the function:
/// those of data::open and WorkerExecutor::create.
engine::MakeWorkerExecutor make_process_worker(const program::Operators& operators);

}  // namespace lanista::runtime
