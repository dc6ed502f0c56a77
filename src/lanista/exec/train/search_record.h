#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/exec/train/trial_definition.h"
#include "lanista/search/study/trial.h"

namespace lanista::train {

/// The branches of the tune search before the current epoch of a run, or the change of an adaptive batch as one branch.
/// They become Measurement::branches of the epoch. None: no search was run before this epoch.
using SearchRecord = std::optional<std::vector<study::Branch>>;

/// Adds the record, if there is one, to TrainerState::facts: the JSON list "branches".
void write_search(const SearchRecord& search, std::map<std::string, std::string>& facts);
/// Reads the record that write_search() added, so that a resumed trial does not search again. It is none if it is
/// missing, or if the trial does not tune itself. Errors: kDataLoss (it is malformed).
Result<SearchRecord> read_search(const std::map<std::string, std::string>& facts, const TrialDefinition& definition);

}  // namespace lanista::train
