#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/model/space/domain.h"
#include "lanista/search/study/study_view.h"

// What every export says of a study in the same words.
namespace lanista::report {

/// Files of an export by path; the folder they go into is the caller's.
using FilesByPath = std::map<std::string, std::string>;

/// A hyper-parameter as one column: the domains that stand under one name (lr of sgd, lr of adam) made one that holds
/// them all. Ranges become the range around them, logarithmic if all are; a choice among others becomes a choice of all
/// values named or seen.
struct Axis {
  std::string name;
  space::Domain domain;
};
/// In the order of declaration; names that only samples know follow in alphabetical order.
std::vector<Axis> axes(const study::StudyView& view);

/// Names of all metrics that were measured or are goals, in alphabetical order.
std::vector<std::string> metric_names(const study::StudyView& view);

/// "running", or the name of the outcome.
std::string_view state_name(const study::TrialView& trial);
/// 0: it runs; then the outcomes in their order; 6: it is paused.
std::size_t state_number(const study::TrialView& trial);

/// The base model's name ("small-cnn"), or "base 3" where the study does not name it.
std::string base_name(const study::StudyView& view, const study::Proposal& proposal);

/// When a trial was worked on, in worked seconds of the study.
struct TrialTimes {
  double began = 0, ended = 0;            ///< of its first and last span; 0 without spans
  double seconds = 0;                     ///< sum of its spans
  std::map<std::int64_t, double> epochs;  ///< when an epoch was over, at the latest
};
/// index = trial id - 1
std::vector<TrialTimes> trial_times(const study::StudyView& view);

/// Place in the ranking from 1; index = trial id - 1; nullopt for trials that have none.
std::vector<std::optional<std::int64_t>> ranks(const study::StudyView& view);

/// The trial whose measurements count for this one: of a duplicate, the one it equals.
const study::TrialView& measured_trial(const study::StudyView& view, const study::TrialView& trial);

/// The text with whatever is not UTF-8 replaced by U+FFFD.
std::string valid_utf8(std::string_view text);
/// A number of JSON, or the texts "nan", "inf", "-inf".
nlohmann::json number_json(double value);
/// JSON without line breaks; texts as in valid_utf8.
std::string dump(const nlohmann::json& json);

}  // namespace lanista::report
