#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <limits>
#include <utility>

#include "lanista/base/file_location.h"
#include "lanista/base/file_system.h"

namespace lanista {
namespace {

constexpr mode_t kFileMode = 0666, kFolderMode = 0777, kLockMode = 0600;  // less the user's umask
constexpr off_t kMostBytes = off_t{8} << 30;                              // the largest file that is read as a whole

Result<void> write_all(int fd, std::span<const std::byte> data, const std::string& path) {
  while (!data.empty()) {
    const ssize_t written = retry_on_eintr([&] { return ::write(fd, data.data(), data.size()); });
    if (written < 0) return system_error("cannot write", path, errno);
    data = data.subspan(static_cast<std::size_t>(written));
  }
  return {};
}

/// Checks that a file has an end; a device may have none.
Result<void> check_readable(int fd, const std::string& path) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return system_error("cannot look at", path, errno);
  if (S_ISDIR(info.st_mode)) return system_error("cannot read", path, EISDIR);
  if (!S_ISREG(info.st_mode)) {
    return Error{Code::kInvalidArgument, "is not a regular file; pipes and devices are not read", path};
  }
  if (info.st_size <= kMostBytes) return {};
  return Error{Code::kResourceExhausted,
               "has " + std::to_string(info.st_size) + " bytes; at most " + std::to_string(kMostBytes) + " are read",
               path};
}

class PosixAppendFile final : public AppendFile {
 public:
  PosixAppendFile(Descriptor fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}

  Result<void> append(std::span<const std::byte> data) override { return write_all(fd_.get(), data, path_); }

  Result<void> sync() override {
    if (retry_on_eintr([&] { return ::fdatasync(fd_.get()); }) != 0) return system_error("cannot sync", path_, errno);
    return {};
  }

 private:
  Descriptor fd_;
  std::string path_;
};

// The lock belongs to the open file. Closing the descriptor frees it, and so does the end of the process.
class PosixFileLock final : public FileLock {
 public:
  explicit PosixFileLock(Descriptor fd) : fd_(std::move(fd)) {}

 private:
  Descriptor fd_;
};

/// The machine's files. Paths below one of `roots` are confined to it (FileSystem::confined_to).
class PosixFileSystem final : public FileSystem {
 public:
  using Roots = std::vector<std::shared_ptr<ConfiningFolder>>;
  explicit PosixFileSystem(Roots roots = {}) : roots_(std::move(roots)) {}

  std::shared_ptr<FileSystem> confined_to(const std::string& root) override {
    Roots roots = roots_;
    const bool is_there =
        std::ranges::any_of(roots, [&](const auto& one) { return one->path() == root || one->contains(root); });
    if (!is_there) roots.push_back(std::make_shared<ConfiningFolder>(root));
    return std::make_shared<PosixFileSystem>(std::move(roots));
  }

  Result<std::unique_ptr<AppendFile>> open_append(const std::string& path) override {
    LANISTA_ASSIGN(Descriptor fd, open(path, O_WRONLY | O_CREAT | O_APPEND, "cannot open for appending"));
    return std::unique_ptr<AppendFile>(std::make_unique<PosixAppendFile>(std::move(fd), path));
  }

  Result<std::string> read(const std::string& path, std::uint64_t offset) override {
    LANISTA_ASSIGN(const Descriptor fd, open(path, O_RDONLY, "cannot open for reading"));
    LANISTA_TRY(check_readable(fd.get(), path));
    if (offset > 0 && ::lseek(fd.get(), static_cast<off_t>(offset), SEEK_SET) < 0) {
      return system_error("cannot read from byte " + std::to_string(offset), path, errno);
    }
    return read_to_end(fd.get(), path, std::numeric_limits<std::uint64_t>::max(), "");
  }

  Result<void> write_file(const std::string& path, std::span<const std::byte> data) override {
    LANISTA_ASSIGN(Descriptor fd, open(path, O_WRONLY | O_CREAT | O_EXCL, "cannot create"));
    LANISTA_TRY(write_all(fd.get(), data, path));
    if (retry_on_eintr([&] { return ::fdatasync(fd.get()); }) != 0) return system_error("cannot sync", path, errno);
    if (fd.close() != 0 && errno != EINTR) return system_error("cannot close", path, errno);
    return {};
  }

  Result<void> rename(const std::string& from, const std::string& to) override {
    LANISTA_ASSIGN(const FileLocation old, locate(from));
    LANISTA_ASSIGN(const FileLocation fresh, locate(to));
    const FileKind there = kind_at(fresh);
    const bool is_confined_link = there == FileKind::kLink && fresh.is_confined;
    if (is_confined_link || (there == FileKind::kOther && !is_regular(fresh))) {
      return Error{Code::kDataLoss,
                   std::string("is ") + (is_confined_link ? "a symbolic link" : "a FIFO, a socket or a device") +
                       "; allowed here: a regular file",
                   to};
    }
    if (::renameat(old.at(), old.name.c_str(), fresh.at(), fresh.name.c_str()) != 0) {
      return system_error("cannot rename to " + to, from, errno);
    }
    return {};
  }

  Result<void> sync_folder(const std::string& path) override {
    LANISTA_ASSIGN(const Descriptor fd, open(path, O_RDONLY | O_DIRECTORY, "cannot open folder"));
    // EINVAL: a file system that does not sync folders.
    if (retry_on_eintr([&] { return ::fsync(fd.get()); }) != 0 && errno != EINVAL) {
      return system_error("cannot sync folder", path, errno);
    }
    return {};
  }

  Result<void> truncate(const std::string& path, std::uint64_t size) override {
    const std::string action = "cannot truncate to " + std::to_string(size) + " bytes";
    LANISTA_ASSIGN(const Descriptor fd, open(path, O_WRONLY, action));
    if (retry_on_eintr([&] { return ::ftruncate(fd.get(), static_cast<off_t>(size)); }) != 0) {
      return system_error(action, path, errno);
    }
    return {};
  }

  Result<void> remove(const std::string& path) override {
    auto located = locate(path);
    if (!located && located.error().code == Code::kNotFound) return {};
    LANISTA_ASSIGN(const FileLocation location, std::move(located));
    int flags = kind_at(location) == FileKind::kFolder ? AT_REMOVEDIR : 0;
    if (::unlinkat(location.at(), location.name.c_str(), flags) != 0 && errno != ENOENT) {
      return system_error("cannot remove", path, errno);
    }
    return {};
  }

  Result<void> make_folder(const std::string& path) override {
    for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
      LANISTA_TRY(make_one_folder(path.substr(0, end)));
      if (end == std::string::npos) return {};
    }
  }

  Result<std::vector<std::string>> list(const std::string& folder) override {
    LANISTA_ASSIGN(Descriptor fd, open(folder, O_RDONLY | O_DIRECTORY, "cannot list"));
    return names_in(std::move(fd), folder);
  }

  bool exists(const std::string& path) override {
    struct stat info {};
    const auto location = locate(path, Use::kRead);
    if (!location) return false;
    const int flags = location->is_confined ? AT_SYMLINK_NOFOLLOW : 0;
    return ::fstatat(location->at(), location->name.c_str(), &info, flags) == 0;
  }

  FileKind kind(const std::string& path) override {
    const auto location = locate(path, Use::kRead);
    return location ? kind_at(*location) : FileKind::kNothing;
  }

  Result<std::uint64_t> size(const std::string& path) override {
    struct stat info {};
    LANISTA_ASSIGN(const FileLocation location, locate(path, Use::kRead));
    const int flags = location.is_confined ? AT_SYMLINK_NOFOLLOW : 0;
    if (::fstatat(location.at(), location.name.c_str(), &info, flags) != 0) {
      return system_error("cannot find the size", path, errno);
    }
    return static_cast<std::uint64_t>(info.st_size);
  }

  Result<std::unique_ptr<FileLock>> lock(const std::string& path) override {
    LANISTA_ASSIGN(Descriptor fd, open(path, O_RDWR | O_CREAT, "cannot open the lock", kLockMode));
    // Earlier builds made it readable to others. If it is another user's file, its mode stays.
    static_cast<void>(::fchmod(fd.get(), kLockMode));
    if (retry_on_eintr([&] { return ::flock(fd.get(), LOCK_EX | LOCK_NB); }) != 0) {
      const int error = errno;
      if (error == EWOULDBLOCK) return Error{Code::kUnavailable, "another process is working here", path};
      return system_error("cannot lock", path, error);
    }
    return std::unique_ptr<FileLock>(std::make_unique<PosixFileLock>(std::move(fd)));
  }

 private:
  enum class Use { kRead, kChange };

  /// A path with `..` may name data outside, which is read as the system resolves it.
  Result<FileLocation> locate(const std::string& path, Use use = Use::kChange) const {
    for (const auto& root : roots_) {
      if (!root->contains(path)) continue;
      const bool leaves = ("/" + path + "/").find("/../", root->path().size()) != std::string::npos;
      if (leaves && use == Use::kRead) break;
      return root->locate(path);
    }
    return FileLocation{{}, path, path, false, 0};
  }

  Result<Descriptor> open(const std::string& path, int flags, const std::string& action,
                          mode_t mode = kFileMode) const {
    const bool reads = (flags & O_ACCMODE) == O_RDONLY;
    LANISTA_ASSIGN(const FileLocation location, locate(path, reads ? Use::kRead : Use::kChange));
    return open_at(location, flags, mode, action);
  }

  static bool is_regular(const FileLocation& location) {
    struct stat info {};
    return ::fstatat(location.at(), location.name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(info.st_mode);
  }

  Result<void> make_one_folder(const std::string& path) const {
    LANISTA_ASSIGN(const FileLocation location, locate(path));
    if (::mkdirat(location.at(), location.name.c_str(), kFolderMode) == 0) return {};
    const int error = errno;  // a parent may exist and yet refuse: EROFS and EACCES come before EEXIST
    if (location.is_confined && kind_at(location) == FileKind::kLink) {
      return Error{Code::kDataLoss, "is a symbolic link; allowed here: a folder", path};
    }
    struct stat info {};
    const bool there = ::fstatat(location.at(), location.name.c_str(), &info, 0) == 0;
    if (there && S_ISDIR(info.st_mode)) return {};
    return there ? system_error("cannot make folder: a file is in the way", path, EEXIST)
                 : system_error("cannot make folder", path, error);
  }

  const Roots roots_;
};

}  // namespace

FileSystem& real_file_system() {
  static PosixFileSystem file_system;  // it has no state
  return file_system;
}

}  // namespace lanista
