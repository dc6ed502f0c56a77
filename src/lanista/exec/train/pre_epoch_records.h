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
  /// Branches of the tune search, or the change of an adaptive batch; none: not run before this epoch.
  std::optional<std::vector<study::Branch>> search;

  /// Returns the records of a copy of a run, with which the copy starts no search of its own.
  static PreEpochRecords of_copy();
  /// Copies the records into the measurement of the epoch.
  void write_to(study::Measurement& measurement) const;
  /// Adds the records that exist to TrainerState::facts, as a JSON list "branches".
  void write_to(std::map<std::string, std::string>& facts) const;
};

/// Reads the records of searches before the run's current epoch, which write_to() added to TrainerState::facts, so that
/// a resumed trial does not search again. A record that is missing there is none. It is read only if the trial tunes
/// itself. Errors: kDataLoss (a record is malformed).
Result<PreEpochRecords> read_pre_epoch_records(const std::map<std::string, std::string>& facts,
                                               const TrialDefinition& definition);

}  // namespace lanista::train
