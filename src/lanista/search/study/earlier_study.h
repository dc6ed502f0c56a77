#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "lanista/base/id.h"
#include "lanista/search/study/trial.h"

namespace lanista::study {

/// A trial of an earlier study, as one of this study's space: what a strategy may know before its first proposal.
struct EarlierTrial {
  TrialId trial;      ///< its number in that study
  Proposal proposal;  ///< in this study's terms: no parent, no start
  std::vector<Measurement> measurements;
  OutcomeKind outcome = OutcomeKind::kSucceeded;  ///< or kStopped
};

/// What a study took over of another one when it began.
struct Earlier {
  std::string study;  ///< its name
  std::vector<EarlierTrial> trials;
  std::int64_t left_out = 0;  ///< finished trials that do not fit
};

/// Trials of earlier studies have numbers from here on where a strategy hears of them; its own never get so far.
inline constexpr std::uint32_t kFirstEarlierTrialId = std::uint32_t{1} << 31;

nlohmann::json earlier_study_json(const Earlier& earlier);
/// The inverse. Throws fields::Malformed.
Earlier read_earlier_study(const nlohmann::json& object);

}  // namespace lanista::study
