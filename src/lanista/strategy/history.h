#pragma once

#include <map>
#include <optional>
#include <vector>

#include "lanista/study/config.h"
#include "lanista/study/trial.h"

namespace lanista::strategy {

/// A trial and what came of it.
struct Observation {
  TrialId trial;
  study::Proposal proposal;
  std::vector<double> losses;  ///< one a goal, of the last measurement, smaller is better; empty: failed, the worst
  std::int64_t epoch = 0;      ///< of the last measurement
  study::OutcomeKind outcome = study::OutcomeKind::kSucceeded;
};

/// Joins the events of a trial. The strategy keeps what it needs of the trials that ended.
class History {
 public:
  explicit History(std::vector<study::Goal> goals) : goals_(std::move(goals)) {}

  /// The trial that ended with this event, if one did and its result counts: a duplicate's stands elsewhere. A failed
  /// or cancelled trial, and one that measured nothing, has no losses.
  std::optional<Observation> observe(const study::Event& event);
  const std::map<TrialId, Observation>& running() const { return running_; }

 private:
  std::vector<study::Goal> goals_;
  std::map<TrialId, Observation> running_;
};

}  // namespace lanista::strategy
