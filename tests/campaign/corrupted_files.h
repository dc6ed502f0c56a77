#pragma once

#include <cstdint>
#include <string>

namespace lanista::campaign {

/// Files after accidents: study files, ONNX models, model packages, weights, data of every kind, logs damaged and
/// forged. Each goes through the verbs that read it, in bounded time and memory; logs are changed by none that only
/// reads. `source` is the repository, whose examples and seeds of fuzzers serve. Whether all held.
bool run_corrupted_files(const std::string& lanista, const std::string& source, std::int64_t count, std::uint64_t seed);

}  // namespace lanista::campaign
