#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>

#include "lanista/progress.h"
#include "lanista/result.h"
#include "lanista/study.h"

namespace lanista {

/// How a study runs this time. Nothing here is stored. Workers and lanes do not change a number of the results.
struct RunOptions {
  std::optional<std::int64_t> workers = {};  ///< Training threads, 1 to 64; absent: `run.workers` of the study.
  std::optional<std::int64_t> lanes = {};    ///< Most trials that a worker trains together; absent: `run.lanes`.
  /// Names of devices, separated by commas, such as "cpu" or "block:cuda:0"; absent: `run.devices`.
  std::optional<std::string> devices = {};
  Observer observer = {};     ///< Receives progress events; empty: none.
  std::stop_token stop = {};  ///< A stop request pauses the study cleanly; resume() continues it.
};

/// More budget for a study, beyond what it has used so far. An absent field leaves a limit unchanged.
struct Extension {
  std::optional<std::int64_t> trials = {};  ///< Trials in addition to those proposed so far.
  std::optional<std::int64_t> steps = {};   ///< Training steps in addition to those used so far.
  std::optional<double> minutes = {};       ///< Further minutes of the wall clock.
};

/// Why run() or resume() returned.
enum class RunEnd {
  kDone,           ///< The study has ended: its budget is used up, or nothing is left to try.
  kPaused,         ///< A stop request or a control request paused it.
  kStoppedByUser,  ///< A control request stopped it.
};

/// Result of run() and resume().
struct RunSummary {
  RunEnd end = RunEnd::kDone;  ///< Why run() or resume() returned.
  std::string reason;          ///< Reason for people; may be empty.
};

/// Trains a study in `folder`, which must be absent or empty, until its end or a pause.
///
/// The folder then has the log, the checkpoints, `report.html`, and the model package `best/` if a trial succeeded.
/// They equal those of `lanista run` with the same study. Workers are threads of this process: a study with
/// `run.isolation: process`, hosts or pipeline ranks on other hosts is refused.
///
/// One study at a time in a process. During it, fatal signals (SIGSEGV, SIGBUS, SIGFPE, SIGABRT) record the running
/// trials; afterwards their handlers are the defaults.
///
/// Errors: those of Study::check(); kAlreadyExists (the folder has files), kUnimplemented (workers as above),
/// kFailedPrecondition (the process runs another study), kIo, kResourceExhausted. After an error of training the log is
/// valid and resume() continues.
Result<RunSummary> run(const Study& study, const std::string& folder, const RunOptions& options = {});

/// Continues the study in `folder` with the results that an uninterrupted run gives, and with more budget if `more` has
/// some. A study that has ended, without more budget, returns at once. Errors: those of run(); kNotFound (no study),
/// kDataLoss (a damaged log), kUnavailable (another process runs it), kInvalidArgument (`more` leaves another limit
/// that is used up).
Result<RunSummary> resume(const std::string& folder, const RunOptions& options = {}, const Extension& more = {});

}  // namespace lanista
