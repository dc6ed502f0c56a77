#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lanista/result.h"

namespace lanista {

/// A study that has not begun: the text of a study file, and settings that replace parts of it.
///
/// It has the keys of the study file and no others (docs/reference/study-file). A mistake is reported by check(),
/// resolved_text() and run(), not by the functions that change the study.
class Study {
 public:
  /// The default study: the embedded digits, small models, and learning rates.
  Study();
  /// Reads a study file. Relative paths in it start at the folder of the file. Errors: kNotFound or kIo (the file
  /// cannot be read), kInvalidArgument (no regular file), kUnimplemented (a file of another format, such as a
  /// notebook).
  static Result<Study> load(const std::string& file);
  /// A study from the text of a study file in YAML. Relative paths in it start at `folder`.
  static Study from_text(std::string text, std::string folder = ".");

  /// Sets one key, such as "train.epochs", to a value in YAML, such as "3" or "[cpu]". A later value replaces an
  /// earlier one. Returns the study.
  Study& set(std::string key, std::string yaml);

  /// Checks the study: keys, ranges, data, models, strategy and devices. It opens the data and writes nothing. Returns
  /// warnings for people, such as a column of the data that may be read in an unintended way. Errors: kInvalidArgument,
  /// with one line for each mistake in the text of the file; those of opening data, models and devices.
  Result<std::vector<std::string>> check() const;
  /// Returns the text of the study file with all settings written out, also those with default values. Equal texts give
  /// equal studies. Errors: those of check().
  Result<std::string> resolved_text() const;

  const std::string& text() const { return text_; }  ///< Text of the study file.
  const std::string& file() const { return file_; }  ///< Path of the study file, or a name for messages without one.
  const std::string& folder() const { return folder_; }  ///< Folder at which relative paths start.
  /// Returns the keys and values of the calls of set(), in their order.
  const std::vector<std::pair<std::string, std::string>>& settings() const { return settings_; }

 private:
  Study(std::string text, std::string file, std::string folder);

  std::string text_, file_, folder_;
  std::vector<std::pair<std::string, std::string>> settings_;
};

}  // namespace lanista
