#pragma once

#include <fcntl.h>
#include <sys/types.h>

#include <cerrno>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "lanista/base/descriptor.h"
#include "lanista/base/file_system.h"
#include "lanista/base/result.h"

// Resolves paths: for file systems that are confined to folders, and for the few callers that need a descriptor.
namespace lanista {

/// Repeats a system call while a signal interrupts it, and returns its result.
template <class Call>
auto retry_on_eintr(Call call) {
  auto result = call();
  while (result == -1 && errno == EINTR) result = call();
  return result;
}

/// The error of a system call: `action`, then the system's text for `error_number`; `where` is the path.
Error system_error(const std::string& action, const std::string& path, int error_number);

/// A path as an open folder and a name in it.
struct FileLocation {
  Descriptor folder;          ///< open folder; none: the system resolves `name` as a path
  std::string name;           ///< last component, or the whole path
  std::string path;           ///< whole path, for messages
  bool is_confined = false;   ///< whether a ConfiningFolder located it
  uid_t owner = 0;            ///< owner of the confining folder

  /// The descriptor for calls such as openat: the folder's, or AT_FDCWD.
  int at() const { return folder.valid() ? folder.get() : AT_FDCWD; }
};

/// A folder that confines the paths below it. Names are resolved one component at a time, relative to the opened
/// folder, and never through a symbolic link. The folder's own path may contain links, since the caller chose it.
/// Thread-safe.
class ConfiningFolder {
 public:
  explicit ConfiningFolder(std::string path);

  const std::string& path() const { return path_; }
  /// Whether `path` begins with this folder and leads below it.
  bool contains(const std::string& path) const;
  /// Opens the folders on the way to `path`, but not its last component. Precondition: contains(path).
  /// Errors: kNotFound; kDataLoss (a link on the way, or `..`).
  Result<FileLocation> locate(const std::string& path);

 private:
  Result<Descriptor> open_folder(uid_t* owner);

  std::string path_, prefix_;
  std::mutex mutex_;
  Descriptor folder_;  // opened when it is first needed
};

/// The kind of a file by its `st_mode`, in words: "a symbolic link", "a FIFO".
const char* file_type_name(mode_t mode);

/// The kind of file at a location; a link is not followed. At a confined one a file of another user is kOther.
FileKind kind_at(const FileLocation& location);

/// Opens the file at a location and checks what was opened. It never waits for a FIFO. With O_CREAT a new file has
/// `mode`, less the user's umask.
///
/// A file that is opened for writing must be a regular file. At a confined location it must also have one name and
/// belong to this user or to the owner of the confining folder. A link is followed in one case: the location is not
/// confined and the file is opened for reading only.
/// Errors: kNotFound, kAlreadyExists (O_EXCL), kDataLoss (a link, a FIFO, a device, another user's file), kIo.
Result<Descriptor> open_at(const FileLocation& location, int flags, mode_t mode, const std::string& action);

}  // namespace lanista
