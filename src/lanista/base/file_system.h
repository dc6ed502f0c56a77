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

/// An open file for appending. Destruction closes it; what was not synced may be lost in a crash.
class AppendFile {
 public:
  virtual ~AppendFile() = default;
  virtual Result<void> append(std::span<const std::byte> data) = 0;  ///< all of it, or an error
  virtual Result<void> sync() = 0;                                   ///< fdatasync
};

/// Held until destroyed.
class FileLock {
 public:
  virtual ~FileLock() = default;
};

/// What is at a path.
enum class FileKind {
  kNothing,
  kFile,    ///< a regular file
  kFolder,
  kLink,    ///< a symbolic link, whatever it leads to
  kOther,   ///< a FIFO, a socket, a device; where paths are confined also a file of another user
};

/// Every write of the product goes through this interface, so that tests can make any of them fail.
/// Paths are ordinary paths. Errors: kNotFound, kAlreadyExists, kUnavailable (lock held), kResourceExhausted
/// (disk full), kIo; `where` is the path and the message ends with the system's own words.
class FileSystem {
 public:
  virtual ~FileSystem() = default;

  virtual Result<std::unique_ptr<AppendFile>> open_append(const std::string& path) = 0;     ///< creates it
  virtual Result<std::string> read(const std::string& path, std::uint64_t offset = 0) = 0;  ///< to its end
  /// Creates a new file, writes, syncs and closes it. Errors: also kAlreadyExists, whatever is there.
  virtual Result<void> write_file(const std::string& path, std::span<const std::byte> data) = 0;
  /// Replaces a file at `to`. Errors: also kDataLoss (a FIFO, a socket or a device is there).
  virtual Result<void> rename(const std::string& from, const std::string& to) = 0;
  virtual Result<void> sync_folder(const std::string& path) = 0;
  virtual Result<void> truncate(const std::string& path, std::uint64_t size) = 0;
  /// Removes a file, a link (not what it leads to), or an empty folder; no error if nothing is there.
  virtual Result<void> remove(const std::string& path) = 0;
  /// With parents; no error if it is there. Like any name, it may go in a power cut: see make_durable_folder.
  virtual Result<void> make_folder(const std::string& path) = 0;
  virtual Result<std::vector<std::string>> list(const std::string& folder) = 0;  ///< names, sorted by bytes
  virtual bool exists(const std::string& path) = 0;
  /// What is at `path`; a link is not followed.
  virtual FileKind kind(const std::string& path) { return exists(path) ? FileKind::kFile : FileKind::kNothing; }
  virtual Result<std::uint64_t> size(const std::string& path) = 0;
  /// An exclusive advisory lock on `path` (created if missing); kUnavailable if another process has it. The file is its
  /// owner's alone: who can open a file can lock it.
  virtual Result<std::unique_ptr<FileLock>> lock(const std::string& path) = 0;

  /// This file system, for which paths that begin with `root` + "/" are confined to that folder: they are resolved one
  /// component at a time, relative to the opened folder, and never through a symbolic link. A file is written only if it
  /// is a regular file of one name that belongs to this user or to the folder's owner. Other paths stay as they are.
  /// Errors of confined calls: also kDataLoss, naming what is in the way. A file system without links may return itself,
  /// which must then outlive the result.
  virtual std::shared_ptr<FileSystem> confined_to(const std::string& root);
};

/// The machine's file system. Thread-safe.
FileSystem& real_file_system();

/// Makes a folder, with its parents, that a power cut does not take: each is synced in the one above it.
Result<void> make_durable_folder(FileSystem& fs, const std::string& path);

/// Replaces `path` as a whole: temporary file, sync, rename, sync of the folder. Readers see old or new. The temporary
/// file is new, its name is unpredictable (temporary_name), and a crash may leave it (remove_leftovers).
Result<void> write_atomically(FileSystem& fs, const std::string& path, std::span<const std::byte> data);
Result<void> write_atomically(FileSystem& fs, const std::string& path, std::string_view text);

/// `path` + ".tmp-" + 16 random hex digits.
std::string temporary_name(const std::string& path);
/// Whether a name ends as temporary_name() makes it.
bool is_temporary_name(std::string_view name);
/// 16 hex digits of the system's randomness.
std::string random_hex();

/// Removes what crashes left in a folder: regular files of temporary names, of which no other process is writing one.
/// Nothing is there: no error.
Result<void> remove_leftovers(FileSystem& fs, const std::string& folder);

/// Counts every mutating call (append, sync, write_file, rename, sync_folder, truncate, remove, make_folder,
/// open_append, lock) and makes the n-th one, and with `sticky` all later ones, fail with `error` — for tests. A
/// failing append or write_file may leave a prefix of its data behind (`torn`), never synced, as a full disk does.
class FaultyFileSystem final : public FileSystem {
 public:
  struct Fault {
    std::int64_t at = -1;  ///< 0-based call number; -1 never
    bool sticky = true;
    bool torn = true;
    Error error{Code::kResourceExhausted, "No space left on device", ""};
  };
  FaultyFileSystem(FileSystem& inner, Fault fault);
  std::int64_t calls() const;

  Result<std::unique_ptr<AppendFile>> open_append(const std::string& path) override;
  Result<std::string> read(const std::string& path, std::uint64_t offset) override;
  Result<void> write_file(const std::string& path, std::span<const std::byte> data) override;
  Result<void> rename(const std::string& from, const std::string& to) override;
  Result<void> sync_folder(const std::string& path) override;
  Result<void> truncate(const std::string& path, std::uint64_t size) override;
  Result<void> remove(const std::string& path) override;
  Result<void> make_folder(const std::string& path) override;
  Result<std::vector<std::string>> list(const std::string& folder) override;
  bool exists(const std::string& path) override;
  FileKind kind(const std::string& path) override;
  Result<std::uint64_t> size(const std::string& path) override;
  Result<std::unique_ptr<FileLock>> lock(const std::string& path) override;

 private:
  struct State;
  FileSystem& inner_;
  std::shared_ptr<State> state_;
};

}  // namespace lanista
