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
  bool maximize = true;  ///< Whether larger is better.
};

/// The metrics of one trial at the end of one epoch. A metric may be NaN or infinite.
struct Measurement {
  std::int64_t epoch = 0;                 ///< From 1, ascending in a trial.
  std::int64_t step = 0;                  ///< Training steps of the trial so far.
  std::map<std::string, double> metrics;  ///< By name: train_loss, val_loss, val_accuracy, …
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

/// Name of a state as in exported tables: "succeeded", "failed", …
std::string_view state_name(TrialState state);

/// One trial of a study.
struct Trial {
  std::int64_t number = 0;                              ///< From 1 in the order of proposal.
  TrialState state = TrialState::kRunning;              ///< Its state.
  std::string reason;                                   ///< Cause of a failure or of an early end; may be empty.
  std::string base_model;                               ///< Name of the model from which it starts.
  std::optional<std::int64_t> parent;                   ///< Trial with the decisions from which it was made.
  std::optional<std::int64_t> same_as;                  ///< Of a duplicate: the equal trial.
  std::map<std::string, std::string> hyper_parameters;  ///< Hyper-parameter sample; numbers as their shortest text.
  std::int64_t num_parameters = 0;                      ///< Trained numbers of the model.
  std::vector<Measurement> measurements;                ///< One for each epoch, in order.
  /// The measurement by which the trial is ranked (`train.keep`); absent if it has measured nothing.
  std::optional<Measurement> result;
};

/// The content of a study folder: all trials, their order, and the winner.
struct StudyResult {
  std::string name;                        ///< Name of the study.
  std::string resolved_text;               ///< The study file with all settings.
  std::vector<Goal> goals;                 ///< At least one.
  std::vector<Trial> trials;               ///< Trial n is at n - 1.
  std::vector<std::int64_t> ranking;       ///< Numbers of ranked trials, best first.
  std::vector<std::int64_t> pareto_front;  ///< Those of them that no other trial dominates.
  std::optional<std::int64_t> winner;      ///< Trial of the package `best/`; absent until the study has ended.
  std::map<std::string, double> test;      ///< Metrics of the winner on the test part.
  std::optional<std::string> end_reason;   ///< Why the study has ended; absent: it runs or is paused.
  std::int64_t steps = 0;                  ///< Training steps of all trials.
  double seconds = 0;                      ///< Seconds of work over all attempts.
};

/// Reads a study from its folder, also while it runs. It writes nothing. Errors: kNotFound, kDataLoss.
Result<StudyResult> read_study(const std::string& folder);

/// The model of a trial as text: one operator a line with its attributes and inputs. Errors: those of read_study();
/// kNotFound (no trial of this number).
Result<std::string> read_trial_model(const std::string& folder, std::int64_t trial);

}  // namespace lanista
