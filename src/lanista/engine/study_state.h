#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "lanista/engine/engine.h"
#include "lanista/engine/records.h"

namespace lanista::engine {

/// A trial that has no outcome yet, beyond what its view tells.
struct OpenTrial {
  double logical_epoch = 1;
  std::string checkpoint;     ///< the last one recorded, or empty
  bool stop_verdict = false;  ///< a verdict "stop" is recorded
  bool cancel_asked = false;  ///< a request to end it is recorded
};

/// Everything that the engine and a reader must know of a study, folded from its records. A running engine folds the
/// same events while it writes them, so that going on and coming back are one thing.
class StudyState {
 public:
  /// What the last record in logical order was.
  enum class Last { kOther, kProposed, kMeasured };

  StudyView view;
  std::map<TrialId, OpenTrial> open;
  Last last = Last::kOther;
  TrialId last_trial;
  double now = 0;                        ///< logical time of the last record
  std::int64_t duplicates_in_a_row = 0;  ///< proposed since the last event that was none
  std::optional<std::int64_t> trials;    ///< budget, extensions included
  std::optional<std::int64_t> steps;     ///< budget, extensions included
  std::optional<double> minutes;         ///< guard, extensions included
  std::string ending;                    ///< a recorded request or guard that ends the study; empty: none
  std::int64_t lost_numbers = 0;         ///< nulls where an old build wrote what JSON cannot hold

  /// Folds a record from a log. Errors: kDataLoss (contradiction), kFailedPrecondition (newer schema).
  Result<void> apply(const store::Record& record, const std::function<void(const study::Event&)>& on_event);

  // The same, for those who have the values at hand.
  void propose(TrialView trial, double logical_epoch);
  void measure(const study::Measurement& measurement);
  void stop_verdict(TrialId trial);
  void end(TrialId trial, const study::Outcome& outcome, double logical_time);
  void end_study(const std::string& reason, std::optional<TrialId> winner, std::map<std::string, double> test);
  void extend(const Engine::Extension& extension);
  void begin_attempt(double unix_time);
  double seconds_before() const { return seconds_before_; }  ///< worked in earlier attempts
  void worked(double seconds);                               ///< in this attempt, all in all
  TrialView& trial(TrialId id) { return view.trials[id.value - 1]; }
  /// Logical time at which the trial's epoch ends.
  double due(TrialId id, std::int64_t epoch);

 private:
  Result<void> apply_header(const nlohmann::json& body);
  void apply_control(const ControlRecord& control);
  Result<TrialId> open_trial(TrialId id) const;
  double seconds_before_ = 0;
};

/// Folds a whole log. Errors: StudyState::apply's, with the record's number.
Result<void> fold_all(StudyState& state, const std::vector<store::Record>& records,
                      const std::function<void(const study::Event&)>& on_event);

}  // namespace lanista::engine
