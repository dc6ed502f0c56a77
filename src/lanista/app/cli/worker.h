#pragma once

#include <string>

namespace lanista::cli {

/// The life of a worker process: knocks at an engine's socket and trains what it is told. The engine begins it.
int work(const std::string& socket);
/// The same, by standard input and output. Ends as the child does that trains (engine::watch_over).
int work_over_streams();
/// The life of a process at a place of a worker's pipelines, by standard input and output.
int serve_stages_over_streams();

}  // namespace lanista::cli
