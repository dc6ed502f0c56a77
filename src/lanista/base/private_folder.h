#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/base/result.h"

namespace lanista {

/// An open folder that only the user of this process can enter, for files that its processes share. Every file is
/// reached through the open folder, by a name without `/`, and never through a link. Move-only.
class PrivateFolder {
 public:
  /// Returns true for a file name that a sweep may remove.
  using AcceptsName = std::function<bool(std::string_view)>;

  /// Creates and opens the folder `prefix` + 16 random hexadecimal digits, with mode 0700. Errors: kIo if the system
  /// cannot create it; those of open().
  static Result<PrivateFolder> create(const std::string& prefix);
  /// Opens a folder that create() made. Errors: kNotFound for a missing folder; kFailedPrecondition for a link, no
  /// folder, another owner or a mode other than 0700; kIo for other errors of the system.
  static Result<PrivateFolder> open(const std::string& path);
  /// Removes the folders that create(prefix) made and a process left. From each it removes the regular files of this
  /// user with a name that `accepts` accepts, then the folder if it is empty. Folders of other users, links and all
  /// other files stay.
  static void sweep(const std::string& prefix, const AcceptsName& accepts);

  PrivateFolder(PrivateFolder&& other) noexcept;
  PrivateFolder& operator=(PrivateFolder&& other) noexcept;
  ~PrivateFolder();  ///< closes the folder and leaves it on disk

  const std::string& path() const { return path_; }
  /// Creates an empty file with mode 0600 and returns a descriptor for reading and writing, which the caller closes.
  /// Errors: kAlreadyExists for an existing name. Also kInvalidArgument for a name with `/`, or no file name. Also
  /// kNotFound if the folder was removed. Also kResourceExhausted for a full disk, no memory or too many open files.
  /// Also kIo for other errors.
  Result<int> create_file(const std::string& name) const;
  /// Opens a file that create_file() made and returns a descriptor for reading and writing, which the caller closes.
  /// Errors: kNotFound for a missing file; kFailedPrecondition for a link, no regular file, another owner, another mode
  /// or a second name; kInvalidArgument for a name with `/`; kIo for other errors of the system.
  Result<int> open_file(const std::string& name) const;
  /// Renames a file and replaces the file `to`, if there is one. Errors: kInvalidArgument for a name with `/`;
  /// kNotFound for a missing file; kIo for other errors of the system.
  Result<void> rename_file(const std::string& from, const std::string& to) const;
  /// Removes a regular file of this user, if there is one. Anything else stays.
  void remove_file(const std::string& name) const;
  /// Removes the files with accepted names as sweep() does, then the folder if it is empty.
  void remove(const AcceptsName& accepts) const;

 private:
  PrivateFolder(int folder, std::string path) : folder_(folder), path_(std::move(path)) {}

  int folder_ = -1;
  std::string path_;
};

}  // namespace lanista
