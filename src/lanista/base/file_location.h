#pragma once

#include <fcntl.h>
#include <sys/types.h>

#include <cerrno>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "lanista/base/descriptor.h"
#include "lanista/base/file_system.h"
#include "lanista/base/result.h"

// Resolves paths: for file systems that are confined to folders, and for the few callers that need a descriptor.
namespace lanista {

/// Calls `call` again while a signal interrupts it (-1 with EINTR), and returns its last result.
template <class Call>
auto retry_on_eintr(Call call) {
  auto result = call();
  while (result == -1 && errno == EINTR) result = call();
  return result;
}

/// Makes the error of a failed system call. The message is `action` and the system's text for `error_number`; `where`
/// is the path. The code is kNotFound, kAlreadyExists, kResourceExhausted (disk, memory or descriptors) or else kIo.
Error system_error(const std::string& action, const std::string& path, int error_number);

/// Returns the bytes of an open file from its position to its end. `path` is for messages. Errors: those of
/// system_error(), and kResourceExhausted with the message `excess` if there are more than `limit` bytes.
Result<std::string> read_to_end(int fd, const std::string& path, std::uint64_t limit, const std::string& excess);
/// Returns the sorted names in an open folder, which it closes. `path` is for messages. Errors: those of
/// system_error().
Result<std::vector<std::string>> names_in(Descriptor folder, const std::string& path);

/// A path, resolved as far as an open folder and a name in it.
struct FileLocation {
  Descriptor folder;         ///< open folder that contains `name`; none: `name` is a path
  std::string name;          ///< last component of the path, or the whole path
  std::string path;          ///< whole path, for messages
  bool is_confined = false;  ///< true: a ConfiningFolder resolved the path
  uid_t owner = 0;           ///< user id of the owner of the confining folder

  /// The descriptor for calls such as openat: that of `folder`, or AT_FDCWD if there is none.
  int at() const { return folder.valid() ? folder.get() : AT_FDCWD; }
};

/// A folder that confines the paths below it. Names are resolved one component at a time, relative to the opened
/// folder, and never through a symbolic link. The folder's own path may contain links, since the caller chose it.
/// Thread-safe.
class ConfiningFolder {
 public:
  /// Stores the path; the folder is opened when it is first needed.
  explicit ConfiningFolder(std::string path);

  const std::string& path() const { return path_; }
  /// True if `path` begins with the path of this folder and "/", so that it is below the folder.
  bool contains(const std::string& path) const;
  /// Opens the folders on the way to `path`, but not its last component. Precondition: contains(path).
  /// Errors: kNotFound if a folder is missing or is another kind of file; kDataLoss for a link on the way, or `..`;
  /// those of system_error().
  Result<FileLocation> locate(const std::string& path);

 private:
  Result<Descriptor> open_folder(uid_t* owner);

  std::string path_, prefix_;
  std::mutex mutex_;
  Descriptor folder_;  // opened when it is first needed
};

/// The kind of a file by its `st_mode`, in words for messages: "a symbolic link", "a FIFO".
const char* file_type_name(mode_t mode);

/// The kind of file at a location; a link is not followed. kNothing if there is none. At a confined location, a file of
/// another user is kOther.
FileKind kind_at(const FileLocation& location);

/// Opens the file at a location and checks what was opened. It never waits for a FIFO. With O_CREAT a new file has
/// `mode`, less the user's umask.
///
/// A file that is opened for writing must be a regular file. At a confined location it must also have one name and
/// belong to this user or to the owner of the confining folder. For reading, any kind of file is opened. A link is
/// followed in one case: the location is not confined and the file is opened for reading only. Errors: those of
/// system_error(), with a message that begins with `action`, so kIo for a folder to write; kDataLoss (a link; to write,
/// a FIFO, a device, another user's file, a file with several names).
Result<Descriptor> open_at(const FileLocation& location, int flags, mode_t mode, const std::string& action);

}  // namespace lanista
