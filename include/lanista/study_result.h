#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/result.h"

namespace lanista {

/// A metric with a direction, by which trials are ranked.
struct Goal {
  std::string metric;    ///< Name, such as "val_accuracy".
  bool maximize = true;  ///< True: larger is better.
};

/// The metrics of one trial at the end of one epoch. A metric may be NaN or infinite.
struct Measurement {
  std::int64_t epoch = 0;                 ///< Number of the epoch, from 1; it ascends in a trial.
  std::int64_t step = 0;                  ///< Training steps of the trial so far.
  std::map<std::string, double> metrics;  ///< Values by name: train_loss, val_loss, val_accuracy, …
};

/// State of a trial.
enum class TrialState {
  kRunning,       ///< It trains, or waits for a worker.
  kPaused,        ///< It gave its slot back and may resume.
  kSucceeded,     ///< It trained to its budget.
  kStopped,       ///< A halving or a stopping rule ended it early; its result counts.
  kFailed,        ///< It diverged, ran out of memory or crashed; `reason` has the cause.
  kCancelled,     ///< The user ended it.
  kDuplicate,     ///< It equals the earlier trial `same_as` and has the result of that trial.
  kPrunedByRule,  ///< A pruning rule ended it by the result of another trial.
};

/// Returns the name of a state as in exported tables: "succeeded", "failed", …
std::string_view state_name(TrialState state);

/// One trial of a study.
struct Trial {
  std::int64_t number = 0;                  ///< From 1 in the order of proposal.
  TrialState state = TrialState::kRunning;  ///< State of the trial.
  std::string reason;                       ///< Cause of a failure or of an early end; may be empty.
  std::string base_model;                   ///< Name of the base model to which its mutations apply.
  std::optional<std::int64_t> parent;   ///< Number of the trial from which its decisions were derived; absent: none.
  std::optional<std::int64_t> same_as;  ///< Of a duplicate: number of the equal trial; else absent.
  std::map<std::string, std::string> hyper_parameters;  ///< Hyper-parameter sample; numbers as their shortest text.
  std::int64_t num_parameters = 0;                      ///< Number of trained parameters of the model.
  std::vector<Measurement> measurements;                ///< One for each finished epoch, by rising epoch.
  /// The measurement by which the trial is ranked (`train.keep`), for a duplicate that of the trial `same_as`. Absent
  /// if nothing is measured.
  std::optional<Measurement> result;
};

/// The content of a study folder: all trials, their order, and the winner.
struct StudyResult {
  std::string name;                        ///< Name of the study.
  std::string resolved_text;               ///< The study file with all settings.
  std::vector<Goal> goals;                 ///< Goals, the most important first; at least one.
  std::vector<Trial> trials;               ///< Trial n is at n - 1.
  std::vector<std::int64_t> ranking;       ///< Numbers of ranked trials, best first.
  std::vector<std::int64_t> pareto_front;  ///< Numbers of ranked trials that no other trial dominates, best first.
  /// Number of the trial in the package `best/`; absent until the study has ended, and if no trial finished.
  std::optional<std::int64_t> winner;
  std::map<std::string, double> test;     ///< Metrics of the winner on the test part, by name; empty: not measured.
  std::optional<std::string> end_reason;  ///< Why the study has ended; absent: it runs or is paused.
  std::int64_t steps = 0;                 ///< Training steps of all trials.
  double seconds = 0;                     ///< Seconds in which the study ran, over all attempts.
};

/// Reads a study from its folder, also while it runs. It writes nothing. Errors: kNotFound (no study), kDataLoss (a
/// damaged log).
Result<StudyResult> read_study(const std::string& folder);

/// Returns the model of the trial with this number, from 1, as text: one operator a line with its attributes and
/// inputs. Errors: those of read_study() (kNotFound, kDataLoss); kNotFound (no trial of this number).
Result<std::string> read_trial_model(const std::string& folder, std::int64_t trial);

}  // namespace lanista
