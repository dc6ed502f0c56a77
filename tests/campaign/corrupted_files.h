#pragma once

#include <cstdint>
#include <string>

namespace lanista::campaign {

/// Runs verbs on `count` changed files: study files, ONNX models, model packages, weights, data files and logs.
///
/// Each verb must end in bounded time and memory, and verbs that only read must not change a log. `source` is the
/// source tree, with examples and fuzz corpora as files to change. Returns true if all checks passed.
bool run_corrupted_files(const std::string& lanista, const std::string& source, std::int64_t count, std::uint64_t seed);

}  // namespace lanista::campaign
