#pragma once

#include <string>

namespace lanista::cli {

/// The life of a worker process: knocks at an engine's socket and trains what it is told. The engine begins it.
int run_worker(const std::string& socket);
/// The same, by standard input and output. Ends as the child does that trains (engine::run_supervised).
int run_worker_over_streams();
/// The life of a process at a place of a worker's pipelines, by standard input and output.
int run_stages_over_streams();

}  // namespace lanista::cli
