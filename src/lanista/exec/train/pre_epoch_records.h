#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/exec/train/trial_definition.h"
#include "lanista/search/study/trial.h"

namespace lanista::train {

/// The results of searches on copies of a run before its current epoch. They become part of the epoch's measurement.
struct PreEpochRecords {
  /// Candidates of the start race in order; none: no race before this epoch.
  std::optional<std::vector<study::StartCandidate>> start_race;
  /// Branches of the tune search, or the change of an adaptive batch; none: not run before this epoch.
  std::optional<std::vector<study::Branch>> search;
  /// The two branches of the selection comparison; none: not run before this epoch.
  std::optional<std::vector<study::SelectBranch>> select_check;

  /// Returns the records of a copy of a run, with which the copy starts no search of its own.
  static PreEpochRecords of_copy();
  /// Copies the records into the measurement of the epoch.
  void write_to(study::Measurement& measurement) const;
  /// Adds the records that exist to TrainerState::facts, as JSON lists: "race", "branches" and "selecting".
  void write_to(std::map<std::string, std::string>& facts) const;
};

/// Reads the records of searches before the run's current epoch, which write_to() added to TrainerState::facts, so that
/// a resumed trial does not search again. A record that is missing there is none. The tune search and the selection
/// comparison are read only if the trial's definition has them, and the start race only if there is no measurement yet.
/// Errors: kDataLoss (a record is malformed).
Result<PreEpochRecords> read_pre_epoch_records(const std::map<std::string, std::string>& facts,
                                               const TrialDefinition& definition, bool has_measurements);

}  // namespace lanista::train
