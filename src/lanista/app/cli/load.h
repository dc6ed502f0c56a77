#pragma once

#include <string>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/io/store/log.h"
#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/op.h"
#include "lanista/search/study/study_view.h"

namespace lanista::cli {

/// Where a file lies: its folder, "." for a name alone.
std::string folder_of(const std::string& file);

/// A study from its folder. Errors: kNotFound, kDataLoss.
Result<study::StudyView> load_study(const std::string& folder);
/// A study from the records of its log. Errors: kDataLoss, with the folder and the record.
Result<study::StudyView> replay_log(const std::vector<store::Record>& records, const std::string& folder);

/// A trial with everything needed to look into it; its data need not be there.
struct LoadedTrial {
  std::string folder;
  study::StudyView view;
  graph::OpTable ops;
  graph::Graph model;
  std::size_t index = 0;

  const study::TrialView& trial() const { return view.trials[index]; }
  std::string base_name() const;
};
/// "DIR#N", or "best" or nothing behind the '#': the best trial. Errors: also kNotFound (no such trial, none has
/// finished).
Result<LoadedTrial> load_trial(const std::string& target);

/// Splits "DIR#N" at the last '#'.
struct Target {
  std::string folder;
  bool has_trial = false;
  std::string trial;
};
Target parse_target(const std::string& text);

}  // namespace lanista::cli
