#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/model/space/domain.h"
#include "lanista/search/study/study_view.h"

// Names and values of a study that all exports share.
namespace lanista::report {

/// Contents of files by path; paths are relative to a folder that the caller chooses.
using FilesByPath = std::map<std::string, std::string>;

/// A hyper-parameter as one column. If a name has several domains (lr of sgd, lr of adam), the column has one domain
/// that contains them all. Ranges become their hull, which is logarithmic if all are. If a domain is a choice, or a
/// trial has a value outside the hull, it becomes a choice of all choices and observed values.
struct Axis {
  std::string name;      ///< Name of the hyper-parameter.
  space::Domain domain;  ///< All possible values.
};
/// Returns the hyper-parameters of a study in the order of declaration. Names that only samples have follow in
/// alphabetical order.
std::vector<Axis> axes(const study::StudyView& view);

/// Returns the names of all metrics that were measured or are goals, in alphabetical order.
std::vector<std::string> metric_names(const study::StudyView& view);

/// Returns the state of a trial as text: "running", "paused", or the name of its outcome.
std::string_view state_name(const study::TrialView& trial);
/// Returns the state of a trial as a number: 0 running, 1 succeeded, 2 stopped, 3 failed, 4 cancelled, 5 duplicate, 6
/// paused, 7 pruned by a rule.
std::size_t state_number(const study::TrialView& trial);

/// Returns the name of the base model ("small-cnn"), or "base" and its index from 0 ("base 3") without a name.
std::string base_name(const study::StudyView& view, const study::Proposal& proposal);

/// The times at which workers trained a trial, in worked seconds of the study.
struct TrialTimes {
  double began = 0;                       ///< Start of its first span; 0 without spans.
  double ended = 0;                       ///< End of its last span; 0 without spans.
  double seconds = 0;                     ///< Sum of the lengths of its spans.
  std::map<std::int64_t, double> epochs;  ///< Latest end of each epoch, by epoch number.
};
/// Returns the times of all trials; index = trial id - 1.
std::vector<TrialTimes> trial_times(const study::StudyView& view);

/// Returns the rank of each trial, from 1 for the best; index = trial id - 1. nullopt: the trial has no rank.
std::vector<std::optional<std::int64_t>> ranks(const study::StudyView& view);

/// Returns the trial of `view` that has the measurements of `trial`: itself, or the trial that a duplicate is equal to.
const study::TrialView& measured_trial(const study::StudyView& view, const study::TrialView& trial);

/// Returns the text with all bytes that are not UTF-8 replaced by U+FFFD.
std::string valid_utf8(std::string_view text);
/// Returns a number as JSON; NaN and infinities become the texts "nan", "inf" and "-inf".
nlohmann::json number_json(double value);
/// Returns JSON as text without line breaks; strings are as valid_utf8() returns them.
std::string dump(const nlohmann::json& json);

}  // namespace lanista::report
