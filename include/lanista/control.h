#pragma once

#include <cstdint>
#include <string>

#include "lanista/result.h"

namespace lanista {

// Requests to a running study, from any thread or process of the machine. The engine reads a request within a second. A
// request to a paused study waits for resume(). Errors of each: kNotFound (no study, no such trial), kDataLoss (a
// damaged log), kFailedPrecondition (the study has ended), kIo.

/// Requests a pause of the study in `folder`, and returns at once. resume() continues the study.
Result<void> request_pause(const std::string& folder);
/// Requests the end of the study in `folder`, and returns at once: running trials are cancelled and the winner is
/// chosen from the others.
Result<void> request_stop(const std::string& folder);
/// Requests the end of the trial with this number, from 1, of the study in `folder`, and returns at once.
Result<void> request_stop_trial(const std::string& folder, std::int64_t trial);

}  // namespace lanista
