#pragma once

#include <string>

#include "lanista/base/result.h"
#include "lanista/engine/remote/worker_config.h"
#include "lanista/engine/remote/worker_loop.h"
#include "lanista/exec/program/opaque.h"

namespace lanista::runtime {

/// What a worker process trains with: the data of the brief, opened anew, and a WorkerExecutor. `operators` are those
/// of the caller, which no brief can hold. Errors: those of data::open and WorkerExecutor::create.
engine::MakeWorkerExecutor make_process_worker(const nn::Operators& operators);

}  // namespace lanista::runtime
