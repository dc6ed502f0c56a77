#pragma once

#include <string>

namespace lanista::cli {

/// Options of `repeat`.
struct RepeatRequest {
  std::string target;  ///< DIR#TRIAL.
  std::string out;     ///< Folder for the model package of the repeated training; empty: none.
};
/// Trains a trial of a study again and prints whether its weights are equal to the stored ones, bit by bit. The package
/// is written in both cases. Returns the exit code; kStudyFailed if they differ, kDone if the study has none to compare
/// with.
int repeat_trial(const RepeatRequest& request);

}  // namespace lanista::cli
