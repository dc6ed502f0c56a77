#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "lanista/search/study/study_view.h"

namespace lanista::report {

/// A study in a comparison.
struct ComparedStudy {
  std::string name;                        ///< Path of the study folder, which names it in the comparison.
  const study::StudyView* view = nullptr;  ///< The study, which outlives the call; not null.
  std::string settings;                    ///< Resolved study file, as studyfile::write_study returns it.
};

/// The comparison of several studies. A training is a trial that has a measurement and has ended. Trainings are in the
/// order in which they ended. With strategy.repeat each training counts by itself. With data.folds a proposal counts
/// when its last training has ended, with the average of its trainings.
struct StudyComparison {
  /// A metric by which the studies are compared.
  struct ComparedMetric {
    std::string metric;    ///< Name of the metric.
    bool maximize = true;  ///< True: larger is better.
  };
  /// A result that was better than all before it in its study.
  struct BestStep {
    std::int64_t trainings = 0;  ///< Number of trainings until then, this one included.
    double seconds = 0;          ///< Worked seconds of the study until then.
    double value = 0;            ///< Value of the metric.
    TrialId trial;               ///< Trial with this result.
  };
  /// The results and costs of one study.
  struct Study {
    std::string name;                    ///< Folder of the study.
    std::optional<std::string> ended;    ///< Reason of its end; absent: it has not ended.
    std::string strategy;                ///< Name of the strategy, as study::strategy_text gives it.
    std::string data;                    ///< Name of the data set.
    std::size_t trials = 0;              ///< Number of trials, ended or not.
    std::size_t failed = 0;              ///< Number of failed trials.
    std::int64_t trainings = 0;          ///< Number of trainings that have ended.
    std::int64_t steps = 0;              ///< Training steps of all trials.
    double seconds = 0;                  ///< Worked seconds of the study.
    std::map<std::string, double> test;  ///< Test metrics of the winner.
    /// [measures]: results that were better than all before, in order; empty without a value.
    std::vector<std::vector<BestStep>> best;
  };
  /// A key of the study file with a value that differs between the studies.
  struct Difference {
    std::string key;                  ///< Key of the study file, as in "train.epochs".
    std::vector<std::string> values;  ///< [studies]; empty if a file does not set it.
  };
  std::vector<ComparedMetric> measures;  ///< Metrics of the comparison.
  std::vector<std::string> notes;        ///< Reasons, for people, why the numbers are not fully comparable.
  std::vector<Study> studies;            ///< The studies, in the order of the argument of compare().
  std::vector<Difference> differences;   ///< In the order of the files.
};

/// Compares two or more studies; fewer is a bug of the caller. Studies with the same goals are compared by these goals.
/// Otherwise the metrics are those that all studies measured and that have a known direction, with a note. A result
/// that violates its study's constraints less is better.
StudyComparison compare(const std::vector<ComparedStudy>& studies);

/// Returns the settings with different values in resolved study files, in the order of their keys in the files. Keys
/// are as in "train.epochs". Values are as in the file, and empty if a file does not set the key. The items of a list
/// are one value, joined by ", ".
std::vector<StudyComparison::Difference> differing_settings(const std::vector<std::string>& resolved);

/// Returns the best value after the first `trainings` trainings; nullopt: there was no value yet. `best` is one entry
/// of Study::best.
std::optional<double> best_after_trainings(const std::vector<StudyComparison::BestStep>& best, std::int64_t trainings);
/// Returns the best value after `seconds` worked seconds; nullopt: there was no value yet. `best` is one entry of
/// Study::best.
std::optional<double> best_after_seconds(const std::vector<StudyComparison::BestStep>& best, double seconds);

/// Returns a quarter, half and all of the number of trainings of the study with the fewest trainings, rounded up. Equal
/// numbers and 0 are left out, so there may be fewer than three.
std::vector<std::int64_t> training_milestones(const StudyComparison& comparison);
/// Returns a quarter, half and all of the worked seconds (wall time of all sessions, without pauses) of the study with
/// the fewest. Empty if these are 0.
std::vector<double> seconds_milestones(const StudyComparison& comparison);

/// The comparison as one JSON object: v, measures, notes, trainings and seconds (the milestones), studies, differences.
/// A study's `best` has, for each measure, value, trial, after_trainings, after_seconds and curve. A curve has at most
/// 500 steps: the first and the last ones.
nlohmann::json compare_json(const StudyComparison& comparison);

/// The comparison as one HTML page without external files. Equal comparisons and versions give equal bytes. Texts of
/// more than 2,000 bytes are cut.
std::string compare_page(const StudyComparison& comparison, const std::string& version);

}  // namespace lanista::report
