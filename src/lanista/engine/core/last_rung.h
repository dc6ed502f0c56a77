#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "lanista/search/study/config.h"
#include "lanista/search/study/trial.h"

namespace lanista::engine {

/// True for a halving of the study that pauses trials at rungs, and may promote them later.
bool pauses_at_rungs(const study::StudyConfig& config);

/// Finds the trial that a study trains to the end if its budget would otherwise end with all trials at earlier rungs. A
/// fold over events. Not thread-safe.
class LastRung {
 public:
  /// For a study with these goals and constraints. It is settled from the beginning with the first rules, for a
  /// strategy that forks trials, and without a halving that pauses trials at rungs.
  explicit LastRung(const study::StudyConfig& config);
  /// Updates the state by an event of the study.
  void observe(const study::Event& event);
  /// True if there is nothing to do: a trial has trained its whole schedule with a result, or the study has no rungs.
  bool is_settled() const { return settled_; }
  /// The paused trial that continues to the end: of those with the most epochs the one with the best result, first by
  /// constraints, then by the first goal. Only trials that `fits` accepts; nullopt: there is none.
  std::optional<TrialId> best_paused(const std::function<bool(TrialId)>& fits) const;

 private:
  struct OpenTrial {
    study::Proposal proposal;
    std::int64_t epoch = 0;
    double violation = 0;
    std::vector<double> losses;
    bool paused = false;
  };

  std::vector<study::Goal> goals_;
  std::vector<study::Constraint> constraints_;
  std::map<TrialId, OpenTrial> open_;  ///< Trials at rungs that have not ended.
  bool settled_ = false;
};

}  // namespace lanista::engine
