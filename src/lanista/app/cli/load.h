#pragma once

#include <string>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/io/store/log.h"
#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/op.h"
#include "lanista/search/study/study_view.h"

namespace lanista::cli {

/// Returns the folder part of the path of a file; "." for a name without a folder.
std::string folder_of(const std::string& file);

/// Returns the study in a folder, replayed from its log. Errors: kNotFound (no study), kDataLoss (a damaged log).
Result<study::StudyView> load_study(const std::string& folder);
/// Returns the study that the records of a log give. Errors: kDataLoss (an invalid record; the error names the folder
/// and the record).
Result<study::StudyView> replay_log(const std::vector<store::Record>& records, const std::string& folder);

/// A trial with its study and its model. Loading it does not need the study's data.
struct LoadedTrial {
  std::string folder;     ///< Folder of the study.
  study::StudyView view;  ///< Study of the trial.
  graph::OpTable ops;     ///< The built-in operators.
  graph::Graph model;     ///< Model of the trial.
  std::size_t index = 0;  ///< Index of the trial in `view.trials`.

  const study::TrialView& trial() const { return view.trials[index]; }
  std::string base_name() const;  ///< Name of its base model; empty without one.
};
/// Returns the trial of "DIR#N". "DIR#best", "DIR#" and "DIR" give the first trial of the ranking. Errors: those of
/// load_study, kNotFound (no such trial, or none has finished).
Result<LoadedTrial> load_trial(const std::string& target);

/// A study folder and the text of a trial, from "DIR#N".
struct Target {
  std::string folder;      ///< Text before the last '#', or the whole text.
  bool has_trial = false;  ///< True: the text was split at a '#'; `trial` may be empty.
  std::string trial;       ///< Text after the last '#'; empty without one.
};
/// Splits "DIR#N" at the last '#'. A text is not split if a '/' follows that '#', or if the whole text exists as a path
/// and the part before the '#' does not.
Target parse_target(const std::string& text);

}  // namespace lanista::cli
