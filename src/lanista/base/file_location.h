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

// Where a path leads: for file systems that are confined to folders, and for the few callers that need a descriptor.
namespace lanista {

/// Repeats a system call that a signal interrupted.
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
  Descriptor folder;        ///< open folder; none: `name` is a path as the system resolves it
  std::string name;         ///< last component, or the whole path
  std::string path;         ///< whole path, for messages
  bool is_confined = false;
  uid_t owner = 0;          ///< of the confining folder

  int at() const { return folder.valid() ? folder.get() : AT_FDCWD; }
};

/// A folder that confines what lies below it: names are resolved one component at a time, relative to the opened folder,
/// and never through a symbolic link. The folder's own path may contain links: it is the caller's. Thread-safe.
class ConfiningFolder {
 public:
  explicit ConfiningFolder(std::string path);

  const std::string& path() const { return path_; }
  /// Whether `path` begins with this folder and leads below it.
  bool contains(const std::string& path) const;
  /// Opens the folders on the way to `path`, of which contains() is true, but not its last component. Errors: kNotFound;
  /// kDataLoss (a link on the way; `..`).
  Result<FileLocation> locate(const std::string& path);

 private:
  Result<Descriptor> open_folder(uid_t* owner);

  std::string path_, prefix_;
  std::mutex mutex_;
  Descriptor folder_;  // opened when it is first needed
};

/// The kind of a file in words, by `st_mode`: "a symbolic link", "a FIFO".
const char* file_type_name(mode_t mode);

/// What is at a location, without following a link. At a confined one a file of another user is kOther.
FileKind kind_at(const FileLocation& location);

/// Opens the file at a location and checks what was opened. Never waits for a FIFO. With O_CREAT a new file has `mode`,
/// less the user's umask. A file that is opened for writing must be a regular file, of one name where the location is
/// confined, and there owned by this user or by the owner of the confining folder. A link is followed in one case: the
/// location is not confined and the file is opened for reading alone.
/// Errors: kNotFound, kAlreadyExists (O_EXCL), kDataLoss (a link, a FIFO, a device, another user's file), kIo.
Result<Descriptor> open_at(const FileLocation& location, int flags, mode_t mode, const std::string& action);

}  // namespace lanista
