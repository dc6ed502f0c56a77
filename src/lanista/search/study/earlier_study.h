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
  TrialId trial;      ///< its number in the earlier study
  Proposal proposal;  ///< its decisions in terms of this study; no parent, no start
  std::vector<Measurement> measurements;
  OutcomeKind outcome = OutcomeKind::kSucceeded;  ///< kSucceeded or kStopped
};

/// The trials of an earlier study with which a strategy begins.
struct Earlier {
  std::string study;  ///< name of the earlier study
  std::vector<EarlierTrial> trials;
  std::int64_t left_out = 0;  ///< finished trials that do not fit into the space
};

/// First number of earlier trials, as strategies receive them. Trials of the study itself have smaller numbers.
inline constexpr std::uint32_t kFirstEarlierTrialId = std::uint32_t{1} << 31;

/// Returns the record of an earlier study.
nlohmann::json earlier_study_json(const Earlier& earlier);
/// Reads the record of an earlier study. Throws fields::Malformed.
Earlier read_earlier_study(const nlohmann::json& object);

}  // namespace lanista::study
