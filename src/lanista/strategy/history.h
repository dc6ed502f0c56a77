#pragma once

#include <map>
#include <optional>
#include <vector>

#include "lanista/strategy/strategy.h"
#include "lanista/study/pareto.h"

namespace lanista::strategy {

/// A trial and what came of it.
struct Observation {
  TrialId trial;
  study::Proposal proposal;
  std::vector<double> losses;  ///< one a goal, of the last measurement, smaller is better; empty: failed, the worst
  std::int64_t epoch = 0;      ///< of the last measurement
  study::OutcomeKind outcome = study::OutcomeKind::kSucceeded;
  double violation = 0;  ///< of the constraints by the last measurement; 0: it keeps to them all
};

/// Fronts of trials by constrained domination, see study/pareto.h.
template <class Observations>
std::vector<std::int64_t> fronts(const Observations& trials) {
  std::vector<std::vector<double>> points;
  std::vector<double> violations;
  for (const Observation& trial : trials) {
    points.push_back(trial.losses);
    violations.push_back(trial.violation);
  }
  return study::non_dominated_ranks(points, violations);
}

/// Joins the events of a trial. The strategy keeps what it needs of the trials that ended.
class History {
 public:
  explicit History(const Context& context) : goals_(context.goals), constraints_(context.constraints) {}

  /// The trial that ended with this event, if one did and its result counts: a duplicate's stands elsewhere. A failed
  /// or cancelled trial, and one that measured nothing, has no losses.
  std::optional<Observation> observe(const study::Event& event);
  const std::map<TrialId, Observation>& running() const { return running_; }

 private:
  std::vector<study::Goal> goals_;
  std::vector<study::Constraint> constraints_;
  std::map<TrialId, Observation> running_;
};

}  // namespace lanista::strategy
