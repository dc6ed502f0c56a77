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
  std::optional<std::vector<study::StartCandidate>> start_race;  ///< None: no race before this epoch.
  std::optional<std::vector<study::Branch>> search;              ///< None: no tune search yet.
  std::optional<std::vector<study::SelectBranch>> select_check;  ///< None: no selection comparison yet.

  /// Returns the records of a copy of a run: it starts no search of its own.
  static PreEpochRecords of_copy();
  /// Copies them into the measurement of the epoch.
  void write_to(study::Measurement& measurement) const;
  /// Adds them to the facts of a state.
  void write_to(std::map<std::string, std::string>& facts) const;
};

/// Reads the records from the facts of a state. A trial has those of the searches in its definition. It has a start
/// race only before the first measurement. Errors: kDataLoss.
Result<PreEpochRecords> read_pre_epoch_records(const std::map<std::string, std::string>& facts,
                                               const TrialDefinition& definition, bool has_measurements);

}  // namespace lanista::train
