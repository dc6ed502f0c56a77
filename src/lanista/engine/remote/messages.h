#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "lanista/base/result.h"
#include "lanista/engine/core/executor.h"

// What engine and executor say to each other, as text: the same over threads, a socket or a file. A message is a JSON
// object in one line of UTF-8; numbers come back to the bit, text that is not UTF-8 is replaced. Free functions;
// thread-safe.
namespace lanista::engine {

/// What an executor is told: to start a job, or a command.
using ExecutorRequest = std::variant<Job, Command>;

std::string encode(const ExecutorRequest& order);
std::string encode(const Report& report);

/// The inverse of encode. A job's model has the form of a graph, but need not be one that verifies: whoever trains it
/// checks it, as any job's. Errors: kDataLoss (no such message: what is missing or wrong; more than a record may hold).
Result<ExecutorRequest> decode_executor_request(std::string_view text);
Result<Report> decode_report(std::string_view text);

}  // namespace lanista::engine
