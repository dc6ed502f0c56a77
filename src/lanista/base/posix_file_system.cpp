#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

#include "lanista/base/file_system.h"

namespace lanista {
namespace {

constexpr mode_t kFileMode = 0644;
constexpr mode_t kFolderMode = 0755;
constexpr off_t kMostBytes = off_t{8} << 30;  ///< of a file that is read as a whole

Code code_of(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return Code::kNotFound;
    case EEXIST:
      return Code::kAlreadyExists;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      return Code::kResourceExhausted;
    default:
      return Code::kIo;
  }
}

Error failed(const std::string& action, const std::string& path, int error) {
  return Error{code_of(error), action + ": " + std::system_category().message(error), path};
}

// Repeats a system call that a signal interrupted.
template <class Call>
auto retry(Call call) {
  auto result = call();
  while (result == -1 && errno == EINTR) result = call();
  return result;
}

/// Owns a file descriptor.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  // Some file systems report a failed write only here. Never repeated: on Linux the descriptor is gone even after
  // EINTR.
  int close() { return ::close(std::exchange(fd_, -1)); }

 private:
  int fd_;
};

Descriptor open_file(const std::string& path, int flags) {
  return Descriptor(retry([&] { return ::open(path.c_str(), flags | O_CLOEXEC, kFileMode); }));
}

Result<void> write_all(int fd, std::span<const std::byte> data, const std::string& path) {
  while (!data.empty()) {
    const ssize_t written = retry([&] { return ::write(fd, data.data(), data.size()); });
    if (written < 0) return failed("cannot write", path, errno);
    data = data.subspan(static_cast<std::size_t>(written));
  }
  return {};
}

/// What we read is a file with an end: a device may have none.
Result<void> check_readable(int fd, const std::string& path) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return failed("cannot look at", path, errno);
  if (S_ISDIR(info.st_mode)) return failed("cannot read", path, EISDIR);
  if (!S_ISREG(info.st_mode)) {
    return Error{Code::kInvalidArgument, "is no regular file; pipes and devices are not read", path};
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
    if (retry([&] { return ::fdatasync(fd_.get()); }) != 0) return failed("cannot sync", path_, errno);
    return {};
  }

 private:
  Descriptor fd_;
  std::string path_;
};

// The lock belongs to the open file, so closing the descriptor, or the end of the process however it comes, frees it.
class PosixFileLock final : public FileLock {
 public:
  explicit PosixFileLock(Descriptor fd) : fd_(std::move(fd)) {}

 private:
  Descriptor fd_;
};

class PosixFileSystem final : public FileSystem {
 public:
  Result<std::unique_ptr<AppendFile>> open_append(const std::string& path) override {
    Descriptor fd = open_file(path, O_WRONLY | O_CREAT | O_APPEND);
    if (!fd.valid()) return failed("cannot open for appending", path, errno);
    return std::unique_ptr<AppendFile>(std::make_unique<PosixAppendFile>(std::move(fd), path));
  }

  Result<std::string> read(const std::string& path, std::uint64_t offset) override {
    // Not blocking, because a pipe without a writer would hold us up for ever.
    const Descriptor fd = open_file(path, O_RDONLY | O_NONBLOCK);
    if (!fd.valid()) return failed("cannot open for reading", path, errno);
    LANISTA_TRY(check_readable(fd.get(), path));
    if (offset > 0 && ::lseek(fd.get(), static_cast<off_t>(offset), SEEK_SET) < 0) {
      return failed("cannot read from byte " + std::to_string(offset), path, errno);
    }
    std::string text;
    std::array<char, 65536> buffer;
    while (true) {
      const ssize_t got = retry([&] { return ::read(fd.get(), buffer.data(), buffer.size()); });
      if (got < 0) return failed("cannot read", path, errno);
      if (got == 0) return text;
      text.append(buffer.data(), static_cast<std::size_t>(got));
    }
  }

  Result<void> write_file(const std::string& path, std::span<const std::byte> data) override {
    Descriptor fd = open_file(path, O_WRONLY | O_CREAT | O_TRUNC);
    if (!fd.valid()) return failed("cannot create", path, errno);
    LANISTA_TRY(write_all(fd.get(), data, path));
    if (retry([&] { return ::fdatasync(fd.get()); }) != 0) return failed("cannot sync", path, errno);
    if (fd.close() != 0 && errno != EINTR) return failed("cannot close", path, errno);
    return {};
  }

  Result<void> rename(const std::string& from, const std::string& to) override {
    if (::rename(from.c_str(), to.c_str()) != 0) return failed("cannot rename to " + to, from, errno);
    return {};
  }

  Result<void> sync_folder(const std::string& path) override {
    const Descriptor fd = open_file(path, O_RDONLY | O_DIRECTORY);
    if (!fd.valid()) return failed("cannot open folder", path, errno);
    // EINVAL: a file system that has nothing to sync in a folder.
    if (retry([&] { return ::fsync(fd.get()); }) != 0 && errno != EINVAL) {
      return failed("cannot sync folder", path, errno);
    }
    return {};
  }

  Result<void> truncate(const std::string& path, std::uint64_t size) override {
    if (retry([&] { return ::truncate(path.c_str(), static_cast<off_t>(size)); }) != 0) {
      return failed("cannot truncate to " + std::to_string(size) + " bytes", path, errno);
    }
    return {};
  }

  Result<void> remove(const std::string& path) override {
    if (std::remove(path.c_str()) != 0 && errno != ENOENT) return failed("cannot remove", path, errno);
    return {};
  }

  Result<void> make_folder(const std::string& path) override {
    for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
      const std::string part = path.substr(0, end);
      if (::mkdir(part.c_str(), kFolderMode) != 0) {
        const int error = errno;  // a parent may exist and yet refuse: EROFS and EACCES come before EEXIST
        struct stat info {};
        const bool there = ::stat(part.c_str(), &info) == 0;
        if (there && !S_ISDIR(info.st_mode)) return failed("cannot make folder: a file is in the way", part, EEXIST);
        if (!there) return failed("cannot make folder", part, error);
      }
      if (end == std::string::npos) return {};
    }
  }

  Result<std::vector<std::string>> list(const std::string& folder) override {
    struct CloseFolder {
      void operator()(DIR* d) const { ::closedir(d); }
    };
    const std::unique_ptr<DIR, CloseFolder> stream(::opendir(folder.c_str()));
    if (!stream) return failed("cannot list", folder, errno);
    std::vector<std::string> names;
    while (true) {
      errno = 0;
      const dirent* entry = ::readdir(stream.get());
      if (entry == nullptr) break;
      std::string name = entry->d_name;
      if (name != "." && name != "..") names.push_back(std::move(name));
    }
    if (errno != 0) return failed("cannot list", folder, errno);
    std::sort(names.begin(), names.end());
    return names;
  }

  bool exists(const std::string& path) override {
    struct stat info {};
    return ::stat(path.c_str(), &info) == 0;
  }

  Result<std::uint64_t> size(const std::string& path) override {
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0) return failed("cannot find the size", path, errno);
    return static_cast<std::uint64_t>(info.st_size);
  }

  Result<std::unique_ptr<FileLock>> lock(const std::string& path) override {
    Descriptor fd = open_file(path, O_RDWR | O_CREAT);
    if (!fd.valid()) return failed("cannot open the lock", path, errno);
    if (retry([&] { return ::flock(fd.get(), LOCK_EX | LOCK_NB); }) != 0) {
      const int error = errno;
      if (error == EWOULDBLOCK) return Error{Code::kUnavailable, "another process is working here", path};
      return failed("cannot lock", path, error);
    }
    return std::unique_ptr<FileLock>(std::make_unique<PosixFileLock>(std::move(fd)));
  }
};

}  // namespace

FileSystem& real_file_system() {
  static PosixFileSystem file_system;  // holds nothing, so sharing it shares no state
  return file_system;
}

}  // namespace lanista
