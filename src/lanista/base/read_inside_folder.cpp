#include "lanista/base/read_inside_folder.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <system_error>

#include "lanista/base/descriptor.h"

namespace lanista {
namespace {

// Opens a file below a folder. While something is renamed anywhere, the kernel may not resolve ".." and asks for a
// retry.
int open_inside_folder(int folder, const std::string& name, open_how& how) {
  constexpr int kTries = 10'000;
  int fd = -1;
  for (int i = 0; i < kTries; ++i) {
    fd = static_cast<int>(::syscall(SYS_openat2, folder, name.c_str(), &how, sizeof how));
    if (fd >= 0 || (errno != EAGAIN && errno != EINTR)) break;
  }
  return fd;
}

/// The error for a path that the system does not open.
Error refused(int error, const std::string& path) {
  const std::string words = ": " + std::system_category().message(error);
  switch (error) {
    case ENOSYS:
      return {Code::kUnimplemented, "this kernel cannot open files beneath a folder only (openat2)" + words, path};
    case ENOENT:
    case ENOTDIR:
      return {Code::kNotFound, "cannot open" + words, path};
    case ELOOP:
      return {Code::kInvalidArgument, "symbolic links lead in a circle, or one is not allowed" + words, path};
    case EXDEV:
      return {Code::kInvalidArgument, "the path leaves its folder, itself or by a symbolic link" + words, path};
    default:
      return {Code::kIo, "cannot open" + words, path};
  }
}

/// A folder, and a path below it.
struct Below {
  std::string folder, path;
};

/// If `folder` is CACHE/snapshots/REVISION or below, and CACHE has a folder "blobs": CACHE, and the path of `name`
/// below it. This is how Hugging Face stores files: those of a revision are links to ../../blobs.
std::optional<Below> in_cache(const std::string& folder, const std::string& name) {
  std::error_code failed;
  const auto whole = std::filesystem::canonical(folder, failed);
  if (failed) return std::nullopt;
  std::filesystem::path below = name;
  for (auto at = whole; at.has_relative_path(); at = at.parent_path()) {
    const bool revision = at.parent_path().filename() == "snapshots";
    below = at.filename() / below;
    if (!revision) continue;
    const auto cache = at.parent_path().parent_path();
    if (!std::filesystem::is_directory(cache / "blobs", failed)) return std::nullopt;
    return Below{cache.string(), ("snapshots" / below).string()};
  }
  return std::nullopt;
}

/// Whether a part of a path is "..".
bool goes_up(const std::string& name) {
  const std::filesystem::path path = name;
  return std::find(path.begin(), path.end(), "..") != path.end();
}

Result<void> check_file(int fd, std::uint64_t offset, std::uint64_t length, const std::string& path) {
  struct stat about = {};
  if (::fstat(fd, &about) != 0) return refused(errno, path);
  if (!S_ISREG(about.st_mode)) return Error{Code::kInvalidArgument, "is not a regular file", path};
  if (about.st_nlink != 1) {
    return Error{Code::kInvalidArgument,
                 "has " + std::to_string(about.st_nlink) + " names (hard links); it must have one", path};
  }
  const auto size = static_cast<std::uint64_t>(about.st_size);
  if (offset <= size && length <= size - offset) return {};
  return Error{Code::kDataLoss,
               std::to_string(length) + " bytes from " + std::to_string(offset) + " are beyond the " +
                   std::to_string(size) + " that it has",
               path};
}

}  // namespace

Result<std::vector<std::byte>> read_inside_folder(const std::string& folder, const std::string& name,
                                                  std::uint64_t offset, std::uint64_t length) {
  const std::string path = folder + "/" + name;
  if (name.empty() || name.front() == '/' || name.find('\0') != std::string::npos) {
    return Error{Code::kInvalidArgument, "is not a relative path", path};
  }
  const Descriptor root(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (root.get() < 0) return refused(errno, folder);
  open_how how = {};
  how.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;  // the call must not wait for a FIFO
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  int opened = open_inside_folder(root.get(), name, how);
  const int error = errno;
  const auto cached = opened < 0 && error == EXDEV && !goes_up(name) ? in_cache(folder, name) : std::nullopt;
  if (cached) {
    const Descriptor cache(::open(cached->folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (cache.get() >= 0) opened = open_inside_folder(cache.get(), cached->path, how);
  }
  const Descriptor file(opened);
  if (file.get() < 0) return refused(error, path);
  LANISTA_TRY(check_file(file.get(), offset, length, path));

  std::vector<std::byte> bytes(length);
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t got =
        ::pread(file.get(), bytes.data() + done, bytes.size() - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Error{Code::kIo, "cannot read: " + std::system_category().message(errno), path};
    if (got == 0) return Error{Code::kDataLoss, "became shorter while it was read", path};
    done += static_cast<std::size_t>(got);
  }
  return bytes;
}

}  // namespace lanista
