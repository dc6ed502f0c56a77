#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/base/result.h"

namespace lanista {

/// A file that is open for appending. The destructor closes it. A power loss may remove bytes that were not synced.
class AppendFile {
 public:
  virtual ~AppendFile() = default;
  virtual Result<void> append(std::span<const std::byte> data) = 0;  ///< writes all bytes; after an error maybe a part
  virtual Result<void> sync() = 0;                                   ///< returns when all bytes are on disk (fdatasync)
};

/// An exclusive lock on a path. The destructor releases it.
class FileLock {
 public:
  virtual ~FileLock() = default;
};

/// What is at a path.
enum class FileKind {
  kNothing,  ///< no file
  kFile,     ///< a regular file
  kFolder,   ///< a folder
  kLink,     ///< a symbolic link, whatever its target is
  kOther,    ///< a FIFO, a socket or a device; where paths are confined also a file of another user
};

/// All calls on files. All code that writes files uses this interface, so that tests can make any call fail.
///
/// Errors of all calls: kNotFound, kAlreadyExists, kUnavailable (lock held), kResourceExhausted (disk full), kIo.
/// `where` of an error is the path; the message ends with the text of the system for the error.
class FileSystem {
 public:
  virtual ~FileSystem() = default;

  /// Opens a file for appending at its end; creates an empty file if it is missing.
  virtual Result<std::unique_ptr<AppendFile>> open_append(const std::string& path) = 0;
  /// Returns the bytes from `offset` to the end of the file; none if `offset` is beyond it. Errors: also
  /// kInvalidArgument (a pipe or a device), kResourceExhausted (a file of more than 8 GiB).
  virtual Result<std::string> read(const std::string& path, std::uint64_t offset = 0) = 0;
  /// Creates a new file, writes all bytes, syncs and closes it. After an error a part of the file may be left. Errors:
  /// also kAlreadyExists, for any kind of file at `path`.
  virtual Result<void> write_file(const std::string& path, std::span<const std::byte> data) = 0;
  /// Renames a file and replaces a file at `to`. Errors: also kDataLoss (`to` is a FIFO, a socket, a device or a
  /// confined link).
  virtual Result<void> rename(const std::string& from, const std::string& to) = 0;
  /// Returns when the names of a folder (created, renamed, removed) are on disk.
  virtual Result<void> sync_folder(const std::string& path) = 0;
  /// Sets the size of a file to `size` bytes; new bytes are zero. It does not sync.
  virtual Result<void> truncate(const std::string& path, std::uint64_t size) = 0;
  /// Removes a file, a link (not its target), or an empty folder; no error if nothing is there.
  virtual Result<void> remove(const std::string& path) = 0;
  /// Makes a folder and its parents; no error if it exists. A power loss may remove it: see make_durable_folder.
  virtual Result<void> make_folder(const std::string& path) = 0;
  /// Returns the names in a folder, without its path, sorted by bytes.
  virtual Result<std::vector<std::string>> list(const std::string& folder) = 0;
  /// True if something is at `path`, of any kind. A link is followed, so false if it has no target; a confined link
  /// counts itself.
  virtual bool exists(const std::string& path) = 0;
  /// The kind of file at `path`; kNothing if there is none. A link is not followed. This default returns kFile for all
  /// that exists.
  virtual FileKind kind(const std::string& path) { return exists(path) ? FileKind::kFile : FileKind::kNothing; }
  /// The size of a file in bytes; that of its target for a link that is not confined.
  virtual Result<std::uint64_t> size(const std::string& path) = 0;
  /// Takes an exclusive advisory lock on `path`, which is created if missing. Errors: kUnavailable if this or another
  /// process holds it. Only the owner can open the file, since every user that can open it could lock it.
  virtual Result<std::unique_ptr<FileLock>> lock(const std::string& path) = 0;

  /// Returns a view of this file system in which the paths that begin with `root` + "/" are confined to that folder.
  /// Calls that change something never leave it. Calls that only read are not confined for paths with a component "..".
  ///
  /// Confined paths are resolved one component at a time, relative to the opened folder, and never through a symbolic
  /// link. A file is written only if it is a regular file of one name that belongs to this user or to the folder's
  /// owner. Other paths are not restricted. Errors of confined calls: also kDataLoss, which names the obstacle. A file
  /// system without links may return itself, which must then outlive the result.
  virtual std::shared_ptr<FileSystem> confined_to(const std::string& root);
};

/// The file system of this machine. Thread-safe. It lives as long as the program.
FileSystem& real_file_system();

/// Makes a folder and its parents, if missing, and syncs the names of the new ones, so that they survive a power loss.
Result<void> make_durable_folder(FileSystem& fs, const std::string& path);

/// Replaces the file `path` as a whole: temporary file, sync, rename, sync of the folder. Readers see the old or the
/// new bytes. The temporary file has the name temporary_name(path). A crash may leave it; remove_leftovers() removes
/// it.
Result<void> write_atomically(FileSystem& fs, const std::string& path, std::span<const std::byte> data);
Result<void> write_atomically(FileSystem& fs, const std::string& path, std::string_view text);

/// An unpredictable name for a temporary file: `path` + ".tmp-" + 16 random hexadecimal digits.
std::string temporary_name(const std::string& path);
/// True if a name ends as the results of temporary_name() do: ".tmp-" and 16 hexadecimal digits.
bool is_temporary_name(std::string_view name);
/// Returns 16 hexadecimal digits from the random generator of the system.
std::string random_hex();

/// Removes the regular files with temporary names in a folder, which crashes left. It also removes one that another
/// process is writing now; write_atomically() writes it again then. A missing folder is no error.
Result<void> remove_leftovers(FileSystem& fs, const std::string& folder);

}  // namespace lanista
