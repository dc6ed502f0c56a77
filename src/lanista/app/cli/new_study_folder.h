#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "lanista/base/result.h"

namespace lanista::cli {

/// A folder for a new study: "PARENT/NAME-1", or with the next free number. Two processes that make one at the same
/// time get different folders. Unless keep_folder() was called, the destructor removes the folder, and a parent that
/// make() made, if they are empty.
class NewStudyFolder {
 public:
  /// Makes the folder with the lowest free number from 1, and `parent` if it is absent. Errors: kIo (the system refuses
  /// it), kResourceExhausted (a full disk).
  static Result<NewStudyFolder> make(const std::string& parent, const std::string& name);
  /// Returns the path that make() would use now. It makes nothing.
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

  /// Path of the folder; empty after keep_folder(), or after a move from this object.
  const std::string& path() const { return path_; }
  /// Keeps the folder after the end of this object; path() is empty then.
  void keep_folder() { path_.clear(); }

 private:
  NewStudyFolder(std::string path, std::string parent) : path_(std::move(path)), parent_(std::move(parent)) {}
  std::string path_;    ///< Empty: the destructor removes nothing.
  std::string parent_;  ///< Made together with the folder; empty: it existed before.
};

}  // namespace lanista::cli
