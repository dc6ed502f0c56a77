#include "lanista/io/studyfile/trust.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <optional>
#include <sstream>
#include <string_view>
#include <thread>
#include <utility>

#include "lanista/base/descriptor.h"
#include "lanista/base/file_location.h"
#include "lanista/base/file_system.h"
#include "lanista/base/paths.h"
#include "lanista/base/printable.h"

namespace lanista::study {
namespace {

constexpr mode_t kPrivateFile = 0600, kPrivateFolder = 0700, kWritableByOthers = 0022;
constexpr std::size_t kMaxListBytes = std::size_t{4} << 20;
constexpr std::size_t kHexDigits = 64;
constexpr int kLockTries = 1000;
constexpr std::chrono::milliseconds kLockPause{10};
constexpr std::string_view kFilePrefix = "file:", kFolderPrefix = "folder:";
constexpr std::string_view kHead =
    "# Code that lanista may run for study files: hash, then where it was when it was added.\n";

bool is_hash(std::string_view text) {
  for (const std::string_view prefix : {kFilePrefix, kFolderPrefix}) {
    if (!text.starts_with(prefix)) continue;
    text.remove_prefix(prefix.size());
    const auto is_hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
    return text.size() == kHexDigits && std::ranges::all_of(text, is_hex);
  }
  return false;
}

Error unsafe(const std::string& path, const std::string& what) {
  return {Code::kFailedPrecondition,
          what + "; a list of trusted code belongs to its user, and no other user may write it or its folder", path};
}

Result<void> check_private(const struct stat& info, const std::string& path) {
  if (info.st_uid != ::geteuid()) {
    return unsafe(path, "belongs to user " + std::to_string(info.st_uid) + ", not to " + std::to_string(::geteuid()));
  }
  if ((info.st_mode & kWritableByOthers) == 0) return {};
  std::array<char, 8> mode{};
  std::snprintf(mode.data(), mode.size(), "%04o", static_cast<unsigned>(info.st_mode & 07777));
  return unsafe(path, "has mode " + std::string(mode.data()) + ", so other users may write it");
}

/// Opens the folder of the list; nullopt: it does not exist.
Result<std::optional<Descriptor>> open_folder(const std::string& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return std::optional<Descriptor>();
    return system_error("cannot open the folder", path, errno);
  }
  if (S_ISLNK(info.st_mode)) return unsafe(path, "is a symbolic link");
  Descriptor fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd.valid()) return system_error("cannot open the folder", path, errno);
  if (::fstat(fd.get(), &info) != 0) return system_error("cannot open the folder", path, errno);
  LANISTA_TRY(check_private(info, path));
  return std::optional<Descriptor>(std::move(fd));
}

Result<Descriptor> make_private_folder(const std::string& path) {
  LANISTA_TRY(real_file_system().make_folder(parent_of(path)));
  if (::mkdir(path.c_str(), kPrivateFolder) != 0 && errno != EEXIST) {
    return system_error("cannot make the folder", path, errno);
  }
  LANISTA_ASSIGN(std::optional<Descriptor> folder, open_folder(path));
  if (!folder) return Error{Code::kNotFound, "the folder was removed again", path};
  return *std::move(folder);
}

std::string name_of(const std::string& file) { return file.substr(file.rfind('/') + 1); }

Result<std::string> read_list(int folder, const std::string& file) {
  const std::string name = name_of(file);
  struct stat info {};
  if (::fstatat(folder, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
    return errno == ENOENT ? Result<std::string>(std::string()) : system_error("cannot read", file, errno);
  }
  if (S_ISLNK(info.st_mode)) return unsafe(file, "is a symbolic link");
  if (!S_ISREG(info.st_mode)) return unsafe(file, "is no regular file");
  const Descriptor fd(::openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd.valid()) return system_error("cannot open", file, errno);
  if (::fstat(fd.get(), &info) != 0) return system_error("cannot read", file, errno);
  if (!S_ISREG(info.st_mode)) return unsafe(file, "is no regular file");
  LANISTA_TRY(check_private(info, file));
  return read_to_end(fd.get(), file, kMaxListBytes, "has more than 4 MiB");
}

Result<std::vector<TrustEntry>> parse_list(const std::string& text, const std::string& file) {
  std::vector<TrustEntry> entries;
  std::istringstream lines(text);
  std::size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.empty() || line.front() == '#') continue;
    const auto space = line.find(' ');
    TrustEntry entry{line.substr(0, space), space == std::string::npos ? "" : line.substr(space)};
    if (const auto at = entry.path.find("# "); at != std::string::npos) entry.path = entry.path.substr(at + 2);
    if (!is_hash(entry.hash)) {
      return Error{Code::kDataLoss,
                   "line " + std::to_string(number) + " is '" + printable(line.substr(0, 80)) +
                       "'; allowed: file: or folder:, and 64 hex digits",
                   file};
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

/// A list is replaced as a whole, by a new file in the open folder.
Result<void> write_list(int folder, const std::string& file, const std::vector<TrustEntry>& entries) {
  std::string text(kHead);
  for (const TrustEntry& entry : entries) text += entry.hash + "  # " + printable(entry.path) + "\n";
  const std::string name = name_of(file), next = temporary_name(name);
  Descriptor fd(::openat(folder, next.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kPrivateFile));
  if (!fd.valid()) return system_error("cannot create", file, errno);
  std::string_view left = text;
  Result<void> done;
  while (done.ok() && !left.empty()) {
    const ssize_t wrote = retry_on_eintr([&] { return ::write(fd.get(), left.data(), left.size()); });
    if (wrote < 0) {
      done = system_error("cannot write", file, errno);
    } else {
      left.remove_prefix(static_cast<std::size_t>(wrote));
    }
  }
  if (done.ok() && ::fsync(fd.get()) != 0) done = system_error("cannot sync", file, errno);
  if (done.ok() && ::renameat(folder, next.c_str(), folder, name.c_str()) != 0) {
    done = system_error("cannot replace", file, errno);
  }
  if (!done.ok()) {
    ::unlinkat(folder, next.c_str(), 0);
    return done;
  }
  if (::fsync(folder) != 0 && errno != EINVAL) return system_error("cannot sync the folder of", file, errno);
  return {};
}

/// The open and locked folder of the list. The lock ends with the descriptor.
Result<Descriptor> lock_folder(const std::string& file) {
  LANISTA_ASSIGN(Descriptor folder, make_private_folder(parent_of(file)));
  for (int tries = 0; tries < kLockTries; ++tries) {
    if (retry_on_eintr([&] { return ::flock(folder.get(), LOCK_EX | LOCK_NB); }) == 0) return folder;
    if (errno != EWOULDBLOCK) return system_error("cannot lock the folder of", file, errno);
    std::this_thread::sleep_for(kLockPause);
  }
  return Error{Code::kUnavailable, "another process holds the folder of the list for more than 10 s", file};
}

}  // namespace

Result<std::string> trust_list_path(const char* xdg_config, const char* home_directory) {
  const auto is_absolute = [](const char* path) { return path != nullptr && *path == '/'; };
  if (is_absolute(xdg_config)) return std::string(xdg_config) + "/lanista/trusted";
  if (is_absolute(home_directory)) return std::string(home_directory) + "/.config/lanista/trusted";
  return Error{Code::kFailedPrecondition,
               "neither XDG_CONFIG_HOME nor HOME is an absolute path, so there is no list of trusted code", ""};
}

Result<TrustList> TrustList::open(const std::string& file) {
  TrustList list;
  list.file_ = file;
  LANISTA_ASSIGN(const std::optional<Descriptor> folder, open_folder(parent_of(file)));
  if (!folder) return list;
  LANISTA_ASSIGN(const std::string text, read_list(folder->get(), file));
  LANISTA_ASSIGN(list.entries_, parse_list(text, file));
  return list;
}

bool TrustList::contains(const std::string& hash) const {
  return std::ranges::find(entries_, hash, &TrustEntry::hash) != entries_.end();
}

Result<void> TrustList::add(const CodeCopy& code) {
  LANISTA_ASSIGN(const Descriptor folder, lock_folder(file_));
  LANISTA_ASSIGN(const std::string text, read_list(folder.get(), file_));
  LANISTA_ASSIGN(entries_, parse_list(text, file_));
  if (contains(code.hash)) return {};
  entries_.push_back({code.hash, code.path});
  return write_list(folder.get(), file_, entries_);
}

Result<std::vector<TrustEntry>> TrustList::remove(const std::string& hash_or_path) {
  LANISTA_ASSIGN(const Descriptor folder, lock_folder(file_));
  LANISTA_ASSIGN(const std::string text, read_list(folder.get(), file_));
  LANISTA_ASSIGN(entries_, parse_list(text, file_));
  std::vector<TrustEntry> removed, kept;
  for (TrustEntry& entry : entries_) {
    const bool is_it = entry.hash == hash_or_path || entry.path == printable(hash_or_path);
    (is_it ? removed : kept).push_back(std::move(entry));
  }
  entries_ = std::move(kept);
  if (removed.empty()) {
    return Error{Code::kNotFound, "has no entry '" + hash_or_path + "'; lanista trust ls prints all of them", file_};
  }
  LANISTA_TRY(write_list(folder.get(), file_, entries_));
  return removed;
}

Result<void> may_run(const std::string& key, const CodeCopy& code, bool has_trust_option, const TrustList& list) {
  if (has_trust_option || list.contains(code.hash)) return {};
  return Error{Code::kFailedPrecondition,
               "would run " + std::string(code.is_folder ? "code of the folder " : "the file ") + code.path + " (" +
                   code.hash +
                   "), which you have not allowed. Read it, then give --trust for this one run, or allow it "
                   "for all studies: lanista trust add PATH",
               key};
}

Result<CodeCopy> trusted_code(const std::string& key, const std::string& path, bool has_trust_option,
                              const TrustList& list) {
  LANISTA_ASSIGN(CodeCopy code, read_code(path));
  LANISTA_TRY(may_run(key, code, has_trust_option, list));
  return code;
}

}  // namespace lanista::study
