#pragma once

#include <string>

namespace lanista::cli {

/// What `repeat` was asked.
struct RepeatRequest {
  std::string target;  ///< DIR#TRIAL
  std::string out;     ///< folder for the model package; empty: none
};
/// Trains a trial of a study again, and says whether its weights are the study's to the bit. The exit code.
int repeat_trial(const RepeatRequest& request);

}  // namespace lanista::cli
