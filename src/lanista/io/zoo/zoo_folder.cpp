#include "lanista/io/zoo/zoo_folder.h"

#include <dirent.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "lanista/base/file_location.h"
#include "lanista/base/printable.h"
#include "lanista/base/read_inside_folder.h"
#include "lanista/base/text_cursor.h"

namespace lanista::zoo {
namespace {

constexpr std::size_t kNamesInMessage = 3;
constexpr int kMaxExaminations = 100;  // of a folder that changes meanwhile
constexpr std::size_t kHeaderBytes = 100;
constexpr std::array<std::string_view, 3> kIndexSuffixes{"-journal", "-shm", "-wal"};
constexpr std::string_view kMagic{"SQLite format 3\0", 16};
constexpr std::string_view kJournalMagic{"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7", 8};
constexpr std::string_view kNoJournal{"\0\0\0\0\0\0\0\0", 8};
constexpr std::string_view kNeeds = "; a zoo needs a new or empty folder";

bool is_hex(std::string_view text, std::size_t digits) {
  return text.size() == digits && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool is_decimal(std::string_view text) {
  return !text.empty() && text.size() <= 20 && text.find_first_not_of("0123456789") == std::string_view::npos;
}

Error refused(const std::string& what, const std::string& path) { return {Code::kFailedPrecondition, what, path}; }

/// The status of the file at a path, without following a link; nullopt: no file.
Result<std::optional<struct stat>> status_of(const std::string& path) {
  struct stat facts {};
  if (::lstat(path.c_str(), &facts) == 0) return std::optional(facts);
  if (errno == ENOENT || errno == ENOTDIR) return std::optional<struct stat>();
  return system_error("cannot examine", path, errno);
}

/// Whether this user may rely on a file: it belongs to this user or to the folder's owner. Or the owner opened the
/// folder to a group, but not to all users, and the file belongs to that group.
bool is_trusted(const struct stat& facts, const struct stat& folder) {
  if (facts.st_uid == ::geteuid() || facts.st_uid == folder.st_uid) return true;
  const mode_t shared = folder.st_mode & (S_IWGRP | S_IWOTH | S_ISVTX);
  return shared == S_IWGRP && facts.st_gid == folder.st_gid;
}

Result<void> check_file(const struct stat& facts, const struct stat& folder, const std::string& path) {
  if (!S_ISREG(facts.st_mode)) {
    return refused(std::string("is ") + file_type_name(facts.st_mode) + "; the zoo's files are regular files", path);
  }
  if (facts.st_nlink > 1) {
    return refused("has " + std::to_string(facts.st_nlink) + " names (hard links); the zoo's files have one", path);
  }
  if (is_trusted(facts, folder)) return {};
  return refused(
      "is a file of user " + std::to_string(facts.st_uid) + "; the zoo's files are this user's or the folder owner's",
      path);
}

/// The names in a folder, sorted; folders end with '/'.
Result<std::vector<std::string>> names_in(const std::string& folder) {
  struct CloseFolder {
    void operator()(DIR* d) const { ::closedir(d); }
  };
  const std::unique_ptr<DIR, CloseFolder> stream(::opendir(folder.c_str()));
  if (!stream) return system_error("cannot list", folder, errno);
  std::vector<std::string> out;
  while (true) {
    errno = 0;
    const dirent* entry = ::readdir(stream.get());
    if (entry == nullptr) break;
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    LANISTA_ASSIGN(const auto facts, status_of(folder + "/" + name));
    if (facts) out.push_back(S_ISDIR(facts->st_mode) ? name + "/" : name);
  }
  if (errno != 0) return system_error("cannot list", folder, errno);
  std::ranges::sort(out);
  return out;
}

Error has_others(const std::string& folder, const std::vector<std::string>& names) {
  std::string what = "has ";
  for (std::size_t k = 0; k < std::min(names.size(), kNamesInMessage); ++k) {
    what += (k > 0 ? ", " : "") + printable(names[k]);
  }
  if (names.size() > kNamesInMessage) what += " and " + std::to_string(names.size() - kNamesInMessage) + " more";
  return refused(what + std::string(kNeeds), folder);
}

/// The first bytes of the index or of a file next to it; fewer if it is shorter.
Result<std::string> beginning_of(const std::string& folder, const std::string& name, std::int64_t size) {
  const auto length = static_cast<std::uint64_t>(std::min<std::int64_t>(size, kHeaderBytes));
  LANISTA_ASSIGN(const auto bytes, read_inside_folder(folder, name, 0, length));
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

/// Refuses a journal that names another file. SQLite writes such journals for changes of several databases; a zoo has
/// one.
Result<void> check_journal_end(const std::string& folder, const std::string& name, std::int64_t size) {
  const auto length = static_cast<std::uint64_t>(kJournalMagic.size());
  if (size < static_cast<std::int64_t>(length)) return {};
  LANISTA_ASSIGN(const auto bytes, read_inside_folder(folder, name, static_cast<std::uint64_t>(size) - length, length));
  if (std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()) != kJournalMagic) return {};
  return refused("names another file, which SQLite would delete; the journal of a zoo names none", folder + "/" + name);
}

std::int64_t big_endian(std::string_view header, std::size_t at, std::size_t bytes) {
  std::int64_t out = 0;
  for (std::size_t k = 0; k < bytes; ++k) out = out << 8 | static_cast<unsigned char>(header[at + k]);
  return out;
}

/// The kind of the files index.sqlite*, by their first bytes.
struct IndexFacts {
  bool is_ours = false;      ///< the header has the application id
  bool may_be_ours = false;  ///< the id may be in the log only, or SQLite was interrupted before it wrote one
};

Result<IndexFacts> examine_index(const std::string& folder, const struct stat& facts_of_folder) {
  const std::string index(kIndexName);
  LANISTA_ASSIGN(const auto facts, status_of(folder + "/" + index));
  if (!facts) return IndexFacts{};
  LANISTA_TRY(check_file(*facts, facts_of_folder, folder + "/" + index));
  std::int64_t log_bytes = 0;
  bool has_foreign_journal = false;
  for (const std::string_view suffix : kIndexSuffixes) {
    const std::string name = index + std::string(suffix);
    LANISTA_ASSIGN(const auto next, status_of(folder + "/" + name));
    if (!next) continue;
    LANISTA_TRY(check_file(*next, facts_of_folder, folder + "/" + name));
    if (suffix == "-wal") log_bytes = next->st_size;
    if (suffix == "-journal") LANISTA_TRY(check_journal_end(folder, name, next->st_size));
    if (suffix != "-journal" || next->st_size == 0 || facts->st_size > 0) continue;
    LANISTA_ASSIGN(const std::string journal, beginning_of(folder, name, next->st_size));
    has_foreign_journal = !journal.starts_with(kJournalMagic) && !journal.starts_with(kNoJournal);
  }
  if (facts->st_size == 0) return IndexFacts{false, log_bytes == 0 && !has_foreign_journal};
  LANISTA_ASSIGN(const std::string header, beginning_of(folder, index, facts->st_size));
  if (header.size() < kHeaderBytes || !header.starts_with(kMagic)) return IndexFacts{};
  const std::int64_t application = big_endian(header, 68, 4), page = big_endian(header, 16, 2);
  if (application == kApplicationId) return IndexFacts{true, true};
  const bool is_one_page = facts->st_size == (page == 1 ? 65536 : page);
  return IndexFacts{false, application == 0 && (is_one_page || log_bytes > 0)};
}

}  // namespace

Error not_a_zoo(const std::string& folder) {
  return refused("is not the index of a zoo" + std::string(kNeeds), folder + "/" + std::string(kIndexName));
}

namespace {

Result<FolderFacts> examine_once(const std::string& folder) {
  LANISTA_ASSIGN(const auto facts, status_of(folder));
  if (!facts) return FolderFacts{false, true};
  if (!S_ISDIR(facts->st_mode)) {
    return refused(std::string("is ") + file_type_name(facts->st_mode) + "; a zoo is a folder", folder);
  }
  const std::string weights = folder + "/" + std::string(kWeightsName);
  LANISTA_ASSIGN(const auto facts_of_weights, status_of(weights));
  LANISTA_ASSIGN(const IndexFacts index, examine_index(folder, *facts));
  LANISTA_ASSIGN(const auto names, names_in(folder));
  const bool has_index = std::ranges::find(names, kIndexName) != names.end();
  if (facts_of_weights && (has_index || S_ISLNK(facts_of_weights->st_mode))) {
    if (!S_ISDIR(facts_of_weights->st_mode)) {
      return refused(
          std::string("is ") + file_type_name(facts_of_weights->st_mode) + "; the zoo's weights are in a folder",
          weights);
    }
    if (!is_trusted(*facts_of_weights, *facts)) {
      return refused("is a folder of user " + std::to_string(facts_of_weights->st_uid) +
                         "; the zoo's files are this user's or the folder owner's",
                     weights);
    }
  }
  if (index.is_ours) return FolderFacts{true, false};
  if (has_index && !index.may_be_ours) return not_a_zoo(folder);

  // By its header it is no zoo yet. One may be created if the folder contains at most an empty folder of weights.
  std::vector<std::string> others;
  for (const std::string& name : names) {
    const bool is_index = has_index && name.starts_with(kIndexName) &&
                          (name == kIndexName ||
                           std::ranges::find(kIndexSuffixes, name.substr(kIndexName.size())) != kIndexSuffixes.end());
    if (!is_index && name != std::string(kWeightsName) + "/") others.push_back(name);
  }
  if (facts_of_weights && S_ISDIR(facts_of_weights->st_mode)) {
    LANISTA_ASSIGN(const auto inner, names_in(weights));
    for (const std::string& name : inner) others.push_back(std::string(kWeightsName) + "/" + name);
  }
  if (!has_index && !others.empty()) return has_others(folder, others);
  return FolderFacts{has_index, others.empty()};
}

/// What shows that another process changed the index or a file next to it.
Result<std::vector<std::array<std::int64_t, 4>>> state_of_index(const std::string& folder) {
  std::vector<std::array<std::int64_t, 4>> out;
  for (const char* suffix : {"", "-journal", "-wal"}) {
    LANISTA_ASSIGN(const auto facts, status_of(folder + "/" + std::string(kIndexName) + suffix));
    out.push_back(facts ? std::array<std::int64_t, 4>{static_cast<std::int64_t>(facts->st_ino), facts->st_size,
                                                      facts->st_mtim.tv_sec, facts->st_mtim.tv_nsec}
                        : std::array<std::int64_t, 4>{});
  }
  return out;
}

}  // namespace

// Another process may create the zoo during the examination, which then sees files of different moments. So a result
// other than a zoo counts only if the files of the index stayed the same meanwhile.
Result<FolderFacts> examine_folder(const std::string& folder) {
  for (int tries = 0;; ++tries) {
    LANISTA_ASSIGN(const auto before, state_of_index(folder));
    Result<FolderFacts> seen = examine_once(folder);
    if (seen && seen->has_index && !seen->may_create) return seen;
    LANISTA_ASSIGN(const auto after, state_of_index(folder));
    if (before == after || tries == kMaxExaminations) return seen;
  }
}

bool is_sha256(std::string_view text) { return is_hex(text, 64); }
bool is_model_id(std::string_view text) { return is_hex(text, 16); }

bool is_weights_file_name(std::string_view name) {
  constexpr std::string_view kEnd = ".safetensors";
  return name.ends_with(kEnd) && is_sha256(name.substr(0, name.size() - kEnd.size()));
}

bool is_temporary_weights_name(std::string_view name) {
  if (!name.starts_with("tmp-")) return false;
  name.remove_prefix(4);
  const std::size_t end = name.find('-');
  if (end == std::string_view::npos || !is_decimal(name.substr(0, end))) return false;
  const std::string_view rest = name.substr(end + 1);
  return is_hex(rest, 16) || is_decimal(rest);
}

std::string temporary_weights_name() { return "tmp-" + std::to_string(::getpid()) + "-" + random_hex(); }

bool has_writer_ended(std::string_view temporary_name) {
  const auto process = TextCursor(temporary_name.substr(4)).number<pid_t>(1);
  return !process || (::kill(*process, 0) != 0 && errno == ESRCH);
}

}  // namespace lanista::zoo
