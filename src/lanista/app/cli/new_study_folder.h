#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "lanista/base/result.h"

namespace lanista::cli {

/// A folder for a new study, "PARENT/NAME-1" or with the first number that is free. Making it is what decides: of two
/// processes that begin at the same moment each gets its own. Goes again with its owner, unless it is kept or something
/// was put into it.
class NewStudyFolder {
 public:
  /// Errors: kIo, kResourceExhausted (a full disk), with the system's words.
  static Result<NewStudyFolder> make(const std::string& parent, const std::string& name);
  /// The folder that `take` would make now; makes nothing.
  static std::string next_path(const std::string& parent, const std::string& name);

  NewStudyFolder(NewStudyFolder&& other) noexcept
      : path_(std::exchange(other.path_, {})), parent_(std::exchange(other.parent_, {})) {}
  NewStudyFolder& operator=(NewStudyFolder&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(parent_, other.parent_);
    return *this;
  }
  NewStudyFolder(const NewStudyFolder&) = delete;
  NewStudyFolder& operator=(const NewStudyFolder&) = delete;
  ~NewStudyFolder();

  const std::string& path() const { return path_; }
  void keep_folder() { path_.clear(); }

 private:
  NewStudyFolder(std::string path, std::string parent) : path_(std::move(path)), parent_(std::move(parent)) {}
  std::string path_;    ///< empty: nothing to take back
  std::string parent_;  ///< empty: it was there before
};

}  // namespace lanista::cli
