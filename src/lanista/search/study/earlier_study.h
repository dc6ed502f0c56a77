#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "lanista/base/id.h"
#include "lanista/search/study/trial.h"

namespace lanista::study {

/// A finished trial of an earlier study with decisions that fit into this study's space.
struct EarlierTrial {
  TrialId trial;      ///< Number of the trial in the earlier study.
  Proposal proposal;  ///< Decisions of the trial in the space of this study, without parent and start.
  std::vector<Measurement> measurements;          ///< Measurements by rising epoch; at least one.
  OutcomeKind outcome = OutcomeKind::kSucceeded;  ///< Outcome, which is kSucceeded or kStopped.
};

/// The trials of an earlier study with which a strategy begins.
struct Earlier {
  std::string study;                 ///< Name of the earlier study.
  std::vector<EarlierTrial> trials;  ///< Trials that fit, in the order in which the strategy observes them.
  std::int64_t left_out = 0;         ///< Number of finished trials that do not fit into the space of this study.
};

/// First number of earlier trials, as strategies receive them. Trials of the study itself have smaller numbers.
inline constexpr std::uint32_t kFirstEarlierTrialId = std::uint32_t{1} << 31;

/// Returns an earlier study as a JSON record: "study", "left_out" and "trials", a list of {"trial", "proposal",
/// "measurements", "outcome"}.
nlohmann::json earlier_study_json(const Earlier& earlier);
/// Reads the record of an earlier study. Throws fields::Malformed (a field is missing or invalid; a trial has no
/// measurement, epochs that do not rise, a parent, a start, or an outcome other than kSucceeded and kStopped).
Earlier read_earlier_study(const nlohmann::json& object);

}  // namespace lanista::study
