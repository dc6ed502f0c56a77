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

/// A study that is to be compared.
struct ComparedStudy {
  std::string name;  ///< its folder
  const study::StudyView* view = nullptr;
  std::string settings;  ///< its resolved file, as studyfile::write_study writes it
};

/// Studies side by side. Trainings are trials that measured something and have ended, in the order in which they ended;
/// with strategy.repeat each training counts by itself, with data.folds a proposal with the average of its trainings
/// when the last of them has ended.
struct StudyComparison {
  /// A metric by which they are compared, and whether more is better.
  struct ComparedMetric {
    std::string metric;
    bool maximize = true;
  };
  /// The best so far, when it became the best: after so many trainings, and worked seconds.
  struct BestStep {
    std::int64_t trainings = 0;
    double seconds = 0;
    double value = 0;
    TrialId trial;
  };
  struct Study {
    std::string name;
    std::optional<std::string> ended;
    std::string strategy, data;
    std::size_t trials = 0, failed = 0;
    std::int64_t trainings = 0, steps = 0;
    double seconds = 0;
    std::map<std::string, double> test;       ///< of the winner
    std::vector<std::vector<BestStep>> best;  ///< [measures]: what set a record; empty: never measured
  };
  /// A setting that is not the same in all study files; empty where a study does not say it.
  struct Difference {
    std::string key;
    std::vector<std::string> values;  ///< [studies]
  };
  std::vector<ComparedMetric> measures;
  std::vector<std::string> notes;  ///< why the numbers are not comparable as they stand
  std::vector<Study> studies;
  std::vector<Difference> differences;
};

/// Studies with the same goals are compared by these; others by the metrics that all have measured and whose better
/// direction is known, with a note. Constraints count: what keeps to its study's better is better. Needs two studies.
StudyComparison compare(const std::vector<ComparedStudy>& studies);

/// The settings by key ("train.epochs") of which resolved study files say different things, in the files' order; values
/// as they are written, empty where nothing is said. Lines of lists belong to the key above them.
std::vector<StudyComparison::Difference> differing_settings(const std::vector<std::string>& resolved);

/// The best value after so many trainings, or so many seconds; nullopt: there was none.
std::optional<double> best_after_trainings(const std::vector<StudyComparison::BestStep>& best, std::int64_t trainings);
std::optional<double> best_after_seconds(const std::vector<StudyComparison::BestStep>& best, double seconds);

/// A quarter, half and all of what the shortest study has: trainings, and seconds.
std::vector<std::int64_t> training_milestones(const StudyComparison& comparison);
std::vector<double> seconds_milestones(const StudyComparison& comparison);

/// {"v", "measures", "notes", "studies", "differences"}; docs/reference/events.md has the fields. At most 500 steps of
/// a curve.
nlohmann::json compare_json(const StudyComparison& comparison);

/// The comparison as a page, like report_page: complete in itself, same comparison and version -> same bytes.
std::string compare_page(const StudyComparison& comparison, const std::string& version);

}  // namespace lanista::report
