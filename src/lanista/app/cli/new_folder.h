#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "lanista/base/result.h"

namespace lanista::cli {

/// A folder for a new study, "PARENT/NAME-1" or with the first number that is free. Making it is what decides: of two
/// processes that begin at the same moment each gets its own. Goes again with its owner, unless it is kept or something
/// was put into it.
class NewFolder {
 public:
  /// Errors: kIo, kResourceExhausted (a full disk), with the system's words.
  static Result<NewFolder> take(const std::string& parent, const std::string& name);
  /// The folder that `take` would make now; makes nothing.
  static std::string next(const std::string& parent, const std::string& name);

  NewFolder(NewFolder&& other) noexcept
      : path_(std::exchange(other.path_, {})), parent_(std::exchange(other.parent_, {})) {}
  NewFolder& operator=(NewFolder&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(parent_, other.parent_);
    return *this;
  }
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;
  ~NewFolder();

  const std::string& path() const { return path_; }
  void keep() { path_.clear(); }

 private:
  NewFolder(std::string path, std::string parent) : path_(std::move(path)), parent_(std::move(parent)) {}
  std::string path_;    ///< empty: nothing to take back
  std::string parent_;  ///< empty: it was there before
};

}  // namespace lanista::cli
