#include "lanista/base/file_location.h"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <system_error>
#include <utility>

namespace lanista {
namespace {

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

/// Components of a relative path, without empty ones.
std::vector<std::string> components_of(const std::string& relative) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < relative.size();) {
    const std::size_t end = std::min(relative.find('/', at), relative.size());
    if (end > at) out.push_back(relative.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

Error refused(const std::string& found, const std::string& allowed, const std::string& path) {
  return {Code::kDataLoss, "is " + found + "; allowed here: " + allowed, path};
}

/// Checks an open file that will be written.
Result<void> check_writable(int fd, const FileLocation& location) {
  struct stat file_status {};
  if (::fstat(fd, &file_status) != 0) return system_error("cannot examine", location.path, errno);
  if (S_ISDIR(file_status.st_mode)) return system_error("cannot open for writing", location.path, EISDIR);
  if (!S_ISREG(file_status.st_mode)) {
    return refused(file_type_name(file_status.st_mode), "a regular file", location.path);
  }
  if (!location.is_confined) return {};
  if (file_status.st_nlink > 1) {
    return refused("a file with " + std::to_string(file_status.st_nlink) + " names (hard links)",
                   "one name; replace the file by a copy of it", location.path);
  }
  if (file_status.st_uid != ::geteuid() && file_status.st_uid != location.owner) {
    return refused("a file of user " + std::to_string(file_status.st_uid),
                   "files of this user and of the folder's owner", location.path);
  }
  return {};
}

}  // namespace

const char* file_type_name(mode_t mode) {
  if (S_ISLNK(mode)) return "a symbolic link";
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISSOCK(mode)) return "a socket";
  if (S_ISREG(mode)) return "a regular file";
  return "a device";
}

Error system_error(const std::string& action, const std::string& path, int error_number) {
  return Error{code_of(error_number), action + ": " + std::system_category().message(error_number), path};
}

Result<std::string> read_to_end(int fd, const std::string& path, std::uint64_t limit, const std::string& excess) {
  std::string text;
  std::array<char, 65536> buffer;
  while (true) {
    const ssize_t got = retry_on_eintr([&] { return ::read(fd, buffer.data(), buffer.size()); });
    if (got < 0) return system_error("cannot read", path, errno);
    if (got == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(got));
    if (text.size() > limit) return Error{Code::kResourceExhausted, excess, path};
  }
}

Result<std::vector<std::string>> names_in(Descriptor folder, const std::string& path) {
  struct CloseFolder {
    void operator()(DIR* d) const { ::closedir(d); }
  };
  const std::unique_ptr<DIR, CloseFolder> stream(::fdopendir(folder.get()));
  if (!stream) return system_error("cannot list", path, errno);
  static_cast<void>(folder.release());  // the stream owns it now
  std::vector<std::string> names;
  while (true) {
    errno = 0;
    const dirent* entry = ::readdir(stream.get());
    if (entry == nullptr) break;
    std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(std::move(name));
  }
  if (errno != 0) return system_error("cannot list", path, errno);
  std::ranges::sort(names);
  return names;
}

ConfiningFolder::ConfiningFolder(std::string path) : path_(std::move(path)), prefix_(path_) {
  while (!prefix_.empty() && prefix_.back() == '/') prefix_.pop_back();
  prefix_ += '/';
}

bool ConfiningFolder::contains(const std::string& path) const {
  return path.starts_with(prefix_) && path.find_first_not_of('/', prefix_.size()) != std::string::npos;
}

Result<Descriptor> ConfiningFolder::open_folder(uid_t* owner) {
  const std::lock_guard lock(mutex_);
  struct stat file_status {};
  // A folder that was removed in the meantime is opened again by name, since it may have been made again.
  const bool is_there = folder_.valid() && ::fstat(folder_.get(), &file_status) == 0 && file_status.st_nlink > 0;
  if (!is_there) {
    folder_ = Descriptor(retry_on_eintr([&] { return ::open(path_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC); }));
    if (!folder_.valid() || ::fstat(folder_.get(), &file_status) != 0) {
      return system_error("cannot open folder", path_, errno);
    }
  }
  *owner = file_status.st_uid;
  Descriptor copy(::fcntl(folder_.get(), F_DUPFD_CLOEXEC, 0));
  if (!copy.valid()) return system_error("cannot open folder", path_, errno);
  return copy;
}

Result<FileLocation> ConfiningFolder::locate(const std::string& path) {
  std::vector<std::string> components = components_of(path.substr(prefix_.size()));
  FileLocation out{{}, components.back(), path, true, 0};
  LANISTA_ASSIGN(out.folder, open_folder(&out.owner));
  for (const std::string& component : components) {
    if (component == "..") return refused("a path with ..", "paths below " + path_, path);
  }
  components.pop_back();
  std::string way = prefix_;
  for (const std::string& component : components) {
    way += component;
    Descriptor inner(retry_on_eintr(
        [&] { return ::openat(out.folder.get(), component.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC); }));
    if (!inner.valid()) {
      const int error = errno;
      struct stat file_status {};
      const bool known = ::fstatat(out.folder.get(), component.c_str(), &file_status, AT_SYMLINK_NOFOLLOW) == 0;
      if (known && S_ISLNK(file_status.st_mode)) return refused("a symbolic link", "a folder", way);
      return system_error("cannot open folder", error == ENOTDIR ? path : way, error);
    }
    out.folder = std::move(inner);
    way += '/';
  }
  return out;
}

FileKind kind_at(const FileLocation& location) {
  struct stat file_status {};
  if (::fstatat(location.at(), location.name.c_str(), &file_status, AT_SYMLINK_NOFOLLOW) != 0) {
    return FileKind::kNothing;
  }
  if (S_ISREG(file_status.st_mode)) {
    const bool is_ours =
        !location.is_confined || file_status.st_uid == ::geteuid() || file_status.st_uid == location.owner;
    return is_ours ? FileKind::kFile : FileKind::kOther;
  }
  if (S_ISDIR(file_status.st_mode)) return FileKind::kFolder;
  return S_ISLNK(file_status.st_mode) ? FileKind::kLink : FileKind::kOther;
}

Result<Descriptor> open_at(const FileLocation& location, int flags, mode_t mode, const std::string& action) {
  const bool writes = (flags & O_ACCMODE) != O_RDONLY;
  const int no_link = writes || location.is_confined ? O_NOFOLLOW : 0;
  Descriptor fd(retry_on_eintr([&] {
    return ::openat(location.at(), location.name.c_str(), flags | no_link | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, mode);
  }));
  if (!fd.valid()) {
    const int error = errno;
    const bool expects_folder = (flags & O_DIRECTORY) != 0;
    struct stat file_status {};
    const bool known = ::fstatat(location.at(), location.name.c_str(), &file_status, AT_SYMLINK_NOFOLLOW) == 0;
    const bool is_link = known && S_ISLNK(file_status.st_mode) && no_link != 0;
    const bool is_special =
        known && !S_ISREG(file_status.st_mode) && !S_ISDIR(file_status.st_mode) && !S_ISLNK(file_status.st_mode);
    if (error != EEXIST && (is_link || (is_special && !expects_folder))) {
      return refused(file_type_name(file_status.st_mode), expects_folder ? "a folder" : "a regular file",
                     location.path);
    }
    return system_error(action, location.path, error);
  }
  if (writes) LANISTA_TRY(check_writable(fd.get(), location));
  return fd;
}

}  // namespace lanista
