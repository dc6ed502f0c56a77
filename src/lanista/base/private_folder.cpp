#include "lanista/base/private_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

namespace lanista {
namespace {

constexpr mode_t kModeBits = 07777, kFolderMode = 0700, kFileMode = 0600;
constexpr std::size_t kRandomDigits = 16;
constexpr std::string_view kDigits = "0123456789abcdef";
constexpr int kNameTries = 16;

Error failed(const std::string& what, int error, const std::string& where) {
  const Code code = error == ENOENT                                         ? Code::kNotFound
                    : error == EEXIST                                       ? Code::kAlreadyExists
                    : error == ELOOP || error == ENOTDIR || error == ENXIO  ? Code::kFailedPrecondition
                    : error == ENOSPC || error == ENOMEM || error == EMFILE ? Code::kResourceExhausted
                                                                            : Code::kIo;
  return {code, what + ": " + std::strerror(error), where};
}

std::string octal(mode_t mode) {
  std::string out = "0000";
  for (std::size_t i = 4; i-- > 0; mode >>= 3) out[i] = static_cast<char>('0' + (mode & 7));
  return out;
}

/// 16 random digits. Errors: kIo.
Result<std::string> random_digits() {
  std::array<unsigned char, kRandomDigits / 2> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    return failed("the system gives no random bytes", errno, "");
  }
  std::string out;
  for (const unsigned char byte : bytes) {
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

bool are_random_digits(std::string_view text) {
  return text.size() == kRandomDigits && text.find_first_not_of(kDigits) == std::string_view::npos;
}

Result<void> check_name(const std::string& name) {
  if (!name.empty() && name != "." && name != ".." && name.find_first_of(std::string_view("/\0", 2)) == name.npos) {
    return {};
  }
  return Error{Code::kInvalidArgument, "'" + name + "' is not a file name; it must be one name without '/'", ""};
}

/// Whether an open file is what this class makes. `what` and `type` name and identify the kind.
Result<void> check_own(int file, mode_t type, mode_t mode, const std::string& path) {
  struct stat file_status {};
  if (::fstat(file, &file_status) != 0) return failed("the file has no attributes", errno, path);
  const auto refuse = [&](const std::string& what) -> Error { return {Code::kFailedPrecondition, what, path}; };
  const bool is_folder = type == S_IFDIR;
  if ((file_status.st_mode & S_IFMT) != type)
    return refuse(is_folder ? "this is not a folder" : "this is not a regular file");
  if (file_status.st_uid != ::geteuid()) {
    return refuse("the owner is user " + std::to_string(file_status.st_uid) + "; it must be user " +
                  std::to_string(::geteuid()));
  }
  if ((file_status.st_mode & kModeBits) != mode) {
    return refuse("the mode is " + octal(file_status.st_mode & kModeBits) + "; it must be " + octal(mode));
  }
  if (!is_folder && file_status.st_nlink > 1) {
    return refuse("the file has " + std::to_string(file_status.st_nlink) + " names; it must have 1");
  }
  return {};
}

bool is_own_regular_file(int folder, const std::string& name) {
  struct stat file_status {};
  return ::fstatat(folder, name.c_str(), &file_status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(file_status.st_mode) &&
         file_status.st_uid == ::geteuid();
}

/// Names in an open folder, without `.` and `..`.
std::vector<std::string> names_in(int folder) {
  std::vector<std::string> names;
  const int copy = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* const entries = copy < 0 ? nullptr : ::fdopendir(copy);
  if (entries == nullptr) {
    if (copy >= 0) ::close(copy);
    return names;
  }
  while (const dirent* entry = ::readdir(entries)) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  ::closedir(entries);
  return names;
}

std::pair<std::string, std::string> split(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) return {".", path};
  return {slash == 0 ? "/" : path.substr(0, slash), path.substr(slash + 1)};
}

}  // namespace

Result<PrivateFolder> PrivateFolder::create(const std::string& prefix) {
  for (int i = 0; i < kNameTries; ++i) {
    LANISTA_ASSIGN(const std::string digits, random_digits());
    const std::string path = prefix + digits;
    if (::mkdir(path.c_str(), kFolderMode) != 0) {
      if (errno == EEXIST) continue;
      return Error{Code::kIo, std::string("a private folder cannot be made: ") + std::strerror(errno), path};
    }
    return open(path);
  }
  return Error{Code::kIo, "a private folder cannot be made: " + std::to_string(kNameTries) + " random names exist",
               prefix};
}

Result<PrivateFolder> PrivateFolder::open(const std::string& path) {
  const int folder = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder < 0) return failed("the private folder cannot be opened", errno, path);
  PrivateFolder opened(folder, path);
  LANISTA_TRY(check_own(folder, S_IFDIR, kFolderMode, path));
  return opened;
}

void PrivateFolder::sweep(const std::string& prefix, const AcceptsName& accepts) {
  const auto [parent, begin] = split(prefix);
  const int folder = ::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  for (const std::string& name : names_in(folder)) {
    if (!name.starts_with(begin) || !are_random_digits(std::string_view(name).substr(begin.size()))) continue;
    if (const auto found = open(parent + "/" + name)) found->remove(accepts);
  }
  ::close(folder);
}

PrivateFolder::PrivateFolder(PrivateFolder&& other) noexcept
    : folder_(std::exchange(other.folder_, -1)), path_(std::move(other.path_)) {}

PrivateFolder& PrivateFolder::operator=(PrivateFolder&& other) noexcept {
  std::swap(folder_, other.folder_);
  std::swap(path_, other.path_);
  return *this;
}

PrivateFolder::~PrivateFolder() {
  if (folder_ >= 0) ::close(folder_);
}

Result<int> PrivateFolder::create_file(const std::string& name) const {
  LANISTA_TRY(check_name(name));
  const int file = ::openat(folder_, name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kFileMode);
  if (file < 0) return failed("the private file cannot be made", errno, path_ + "/" + name);
  ::fchmod(file, kFileMode);  // A umask may have removed bits.
  return file;
}

Result<int> PrivateFolder::open_file(const std::string& name) const {
  LANISTA_TRY(check_name(name));
  const std::string path = path_ + "/" + name;
  // O_NONBLOCK: a FIFO in this place must not make the call wait.
  const int file = ::openat(folder_, name.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return failed("the private file cannot be opened", errno, path);
  if (const auto own = check_own(file, S_IFREG, kFileMode, path); !own) {
    ::close(file);
    return own.error();
  }
  return file;
}

Result<void> PrivateFolder::rename_file(const std::string& from, const std::string& to) const {
  LANISTA_TRY(check_name(from));
  LANISTA_TRY(check_name(to));
  if (::renameat(folder_, from.c_str(), folder_, to.c_str()) == 0) return {};
  return failed("the private file cannot be renamed to " + to, errno, path_ + "/" + from);
}

void PrivateFolder::remove_file(const std::string& name) const {
  if (check_name(name) && is_own_regular_file(folder_, name)) ::unlinkat(folder_, name.c_str(), 0);
}

void PrivateFolder::remove(const AcceptsName& accepts) const {
  for (const std::string& name : names_in(folder_)) {
    if (accepts(name)) remove_file(name);
  }
  ::rmdir(path_.c_str());  // The system removes only an empty folder, and never a link.
}

}  // namespace lanista
