#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace lanista {

/// One event of a running study.
struct ProgressEvent {
  /// What happened.
  enum class Kind {
    kTrialStarted,  ///< A trial got a slot.
    kMeasured,      ///< A trial ended an epoch.
    kTrialPaused,   ///< A trial gave its slot back and may resume.
    kTrialResumed,  ///< A paused trial trains again.
    kTrialEnded,    ///< A trial has an outcome.
    kWarning,       ///< `text` has a warning for the user.
  };
  Kind kind = Kind::kWarning;             ///< What happened.
  std::int64_t trial = 0;                 ///< Number of the trial, from 1; 0 for a warning.
  std::int64_t epoch = 0;                 ///< Number of the last measured epoch of the trial, from 1; 0: none.
  std::map<std::string, double> metrics;  ///< Of kMeasured: the metrics of the epoch, by name; else empty.
  /// Text for people. Of kTrialEnded: the state and the reason. Of kWarning: the message. Else empty.
  std::string text;
};

/// Receives the events of a study in logical order. The thread that called run() or resume() calls it, so a slow
/// observer delays the study. It must not throw.
using Observer = std::function<void(const ProgressEvent&)>;

}  // namespace lanista
