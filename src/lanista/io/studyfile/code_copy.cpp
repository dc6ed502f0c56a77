#include "lanista/io/studyfile/code_copy.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "lanista/base/descriptor.h"
#include "lanista/base/file_location.h"
#include "lanista/base/sha256.h"

namespace lanista::study {
namespace {

constexpr int kReadFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

Error no_code(const std::string& path) {
  return {Code::kInvalidArgument, "is no file and no folder; a pipe, a socket or a device is not run", path};
}

/// Reads a file or a folder tree, and counts what the limits allow.
class CodeReader {
 public:
  CodeReader(CodeCopy& out, const CodeLimits& limits) : out_(out), left_(limits) {}

  Result<void> read_file(int fd, const struct stat& info, const std::string& name, const std::string& path) {
    LANISTA_TRY(count_entry(path));
    CodeCopy::Entry entry{name, (info.st_mode & S_IXUSR) != 0 ? CodeCopy::Kind::kProgram : CodeCopy::Kind::kFile, {}};
    const Error excess = too_much("more bytes than a copy may have", path);
    LANISTA_ASSIGN(entry.bytes, read_to_end(fd, path, left_.bytes, excess.message));
    left_.bytes -= entry.bytes.size();
    out_.entries.push_back(std::move(entry));
    return {};
  }

  Result<void> read_folder(int fd, const std::string& prefix, const std::string& path, std::size_t depth) {
    if (depth > left_.depth)
      return too_much("more than " + std::to_string(left_.depth) + " folders in each other", path);
    Descriptor own(::openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!own.valid()) return system_error("cannot open the folder", path, errno);
    LANISTA_ASSIGN(const std::vector<std::string> names, names_in(std::move(own), path));
    for (const std::string& name : names) LANISTA_TRY(read_entry(fd, prefix + name, name, path + "/" + name, depth));
    return {};
  }

 private:
  static Error too_much(const std::string& what, const std::string& path) {
    return {Code::kResourceExhausted, "has " + what + "; this is too much to hash", path};
  }

  Result<void> count_entry(const std::string& path) {
    if (left_.entries == 0) return too_much("more files than a copy may have", path);
    --left_.entries;
    return {};
  }

  // The kind is looked up first, since opening a device may have an effect. The opened file is checked again.
  Result<void> read_entry(int folder, const std::string& name, const std::string& last, const std::string& path,
                          std::size_t depth) {
    struct stat info {};
    if (::fstatat(folder, last.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0)
      return system_error("cannot read", path, errno);
    if (S_ISLNK(info.st_mode)) {
      return Error{Code::kInvalidArgument, "is a symbolic link; a folder that is run has none", path};
    }
    if (!S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)) return no_code(path);
    const Descriptor fd(retry_on_eintr([&] { return ::openat(folder, last.c_str(), kReadFlags | O_NOFOLLOW); }));
    if (!fd.valid()) return system_error("cannot open", path, errno);
    if (::fstat(fd.get(), &info) != 0) return system_error("cannot read", path, errno);
    if (S_ISREG(info.st_mode)) return read_file(fd.get(), info, name, path);
    if (!S_ISDIR(info.st_mode)) return no_code(path);
    LANISTA_TRY(count_entry(path));
    out_.entries.push_back({name, CodeCopy::Kind::kFolder, {}});
    return read_folder(fd.get(), name + "/", path, depth + 1);
  }

  CodeCopy& out_;
  CodeLimits left_;
};

char letter_of(CodeCopy::Kind kind) {
  switch (kind) {
    case CodeCopy::Kind::kFile:
      return 'f';
    case CodeCopy::Kind::kProgram:
      return 'x';
    case CodeCopy::Kind::kFolder:
      break;
  }
  return 'd';
}

}  // namespace

std::string hash_of_code(const CodeCopy& code) {
  if (!code.is_folder) return "file:" + sha256_hex(code.entries.empty() ? std::string() : code.entries.front().bytes);
  std::string list;
  for (const CodeCopy::Entry& entry : code.entries) {
    // The length distinguishes a name with a line break from two entries.
    list += std::string(1, letter_of(entry.kind)) + " " + sha256_hex(entry.bytes) + " " +
            std::to_string(entry.name.size()) + " " + entry.name + "\n";
  }
  return "folder:" + sha256_hex(list);
}

Result<CodeCopy> read_code(const std::string& path, const CodeLimits& limits) {
  if (path.empty() || path.find('\0') != std::string::npos) {
    return Error{Code::kInvalidArgument, "'" + path + "' is no path", ""};
  }
  std::error_code failed;
  CodeCopy out;
  out.path = std::filesystem::absolute(path, failed).lexically_normal().string();
  if (failed) return system_error("cannot find the folder of", path, failed.value());
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return system_error("cannot read", path, errno);
  if (!S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)) return no_code(path);
  const Descriptor fd(retry_on_eintr([&] { return ::open(path.c_str(), kReadFlags); }));
  if (!fd.valid()) return system_error("cannot open", path, errno);
  if (::fstat(fd.get(), &info) != 0) return system_error("cannot read", path, errno);
  CodeReader reader(out, limits);
  if (S_ISDIR(info.st_mode)) {
    out.is_folder = true;
    LANISTA_TRY(reader.read_folder(fd.get(), "", path, 1));
    std::ranges::sort(out.entries, {}, &CodeCopy::Entry::name);
  } else if (S_ISREG(info.st_mode)) {
    LANISTA_TRY(reader.read_file(fd.get(), info, "", path));
  } else {
    return no_code(path);
  }
  out.hash = hash_of_code(out);
  return out;
}

}  // namespace lanista::study
