#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "lanista/base/result.h"
#include "lanista/engine/core/executor.h"

// Text form of the messages between engine and executor. A message is a JSON object in one line of UTF-8. Numbers keep
// all bits; text that is not UTF-8 is replaced. All functions are thread-safe.
namespace lanista::engine {

/// A message to an executor: a job to start, or a command.
using ExecutorRequest = std::variant<Job, Command>;

/// The message text of a request: one line of JSON.
std::string encode(const ExecutorRequest& order);
/// The message text of a report: one line of JSON. WorkerReport::is_dropped is not sent.
std::string encode(const Report& report);

/// Reads the text of a request. The model of a job is parsed but not verified; the executor verifies it. Errors:
/// kDataLoss (the text is invalid or larger than a log record may be; the message names the fault).
Result<ExecutorRequest> decode_executor_request(std::string_view text);
/// Reads the text of a report. Errors: kDataLoss (the text is invalid or larger than a log record may be).
Result<Report> decode_report(std::string_view text);

}  // namespace lanista::engine
