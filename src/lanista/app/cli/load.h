#pragma once

#include <string>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/io/store/log.h"
#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/op.h"
#include "lanista/search/study/study_view.h"

namespace lanista::cli {

/// The folder of a file; "." for a name without a folder.
std::string folder_of(const std::string& file);

/// The study in a folder, replayed from its log. Errors: kNotFound, kDataLoss.
Result<study::StudyView> load_study(const std::string& folder);
/// The study that the records of a log give. Errors: kDataLoss, with the folder and the record.
Result<study::StudyView> replay_log(const std::vector<store::Record>& records, const std::string& folder);

/// A trial with its study and its model. Loading it does not need the study's data.
struct LoadedTrial {
  std::string folder;     ///< folder of the study
  study::StudyView view;  ///< the study
  graph::OpTable ops;     ///< operators of the study
  graph::Graph model;     ///< model of the trial
  std::size_t index = 0;  ///< index of the trial in `view.trials`

  const study::TrialView& trial() const { return view.trials[index]; }
  std::string base_name() const;  ///< name of its base model; empty without one
};
/// The trial of "DIR#N". "DIR#best" and "DIR" give the best trial. Errors: those of load_study, kNotFound (no such
/// trial, or none has finished).
Result<LoadedTrial> load_trial(const std::string& target);

/// A study folder and the text of a trial, from "DIR#N".
struct Target {
  std::string folder;      ///< text before the last '#'
  bool has_trial = false;  ///< whether the text has a '#'
  std::string trial;       ///< text after the last '#'
};
/// Splits "DIR#N" at the last '#'. A text that names an existing folder is not split.
Target parse_target(const std::string& text);

}  // namespace lanista::cli
