#pragma once

#include <string>

namespace lanista::cli {

/// Runs a worker process of a study: connects to the engine's local socket with the path `socket` and trains its work
/// items until the engine closes the connection. Returns the exit code.
int run_worker(const std::string& socket);
/// Runs a worker process that talks to the engine over standard input and output. It trains in a child process and
/// returns the child's exit code (engine::run_supervised).
int run_worker_over_streams();
/// Runs a process that serves a rank of a worker's pipelines over standard input and output. Returns the exit code.
int run_stages_over_streams();

}  // namespace lanista::cli
