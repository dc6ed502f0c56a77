#pragma once

#include <string>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/io/studyfile/code_copy.h"

// The rule for keys of a study file that run code. A study file may come from another person, so such a key starts
// nothing by itself. It starts only after `--trust`, or if the user has put the hash of the code on a private list.
namespace lanista::study {

/// One line of the list.
struct TrustEntry {
  std::string hash;  ///< as CodeCopy::hash
  std::string path;  ///< the path when the code was added; a comment that no check reads
  bool operator==(const TrustEntry&) const = default;
};

/// The path of the list: lanista/trusted below $XDG_CONFIG_HOME, or below .config of $HOME. A value that is empty or no
/// absolute path does not count; null: not set. Errors: kFailedPrecondition (neither is set).
Result<std::string> trust_list_path(const char* xdg_config, const char* home_directory);

/// The user's private list of code that may run. Its folder has mode 0700 and the file 0600. Two processes may change
/// it at the same time; one object is used by one thread.
class TrustList {
 public:
  /// Reads the list; a list that does not exist is empty. Errors: kFailedPrecondition (the file or its folder is a
  /// link, is no regular file, belongs to another user, or others may write it), kDataLoss (a line that is no entry),
  /// kIo.
  static Result<TrustList> open(const std::string& file);

  const std::string& file() const { return file_; }
  const std::vector<TrustEntry>& entries() const { return entries_; }
  bool contains(const std::string& hash) const;  ///< whether code with this hash may run

  /// Adds a copy's hash; no error if it is there. Errors: as of open; kIo, kResourceExhausted.
  Result<void> add(const CodeCopy& code);
  /// Removes the entries with this hash, or with this path, and returns them. Errors: as of add; kNotFound (none).
  Result<std::vector<TrustEntry>> remove(const std::string& hash_or_path);

 private:
  std::string file_;
  std::vector<TrustEntry> entries_;
};

/// Whether the code that `key` names may run: the user gave --trust, or the list has its hash. The check is of the copy
/// itself, so a change of the file after it has no effect. Errors: kFailedPrecondition at `key` (what would run, its
/// hash, and the two ways to allow it).
Result<void> may_run(const std::string& key, const CodeCopy& code, bool has_trust_option, const TrustList& list);

/// Calls read_code(), then may_run(), and returns the bytes to run. Errors: those of both.
Result<CodeCopy> trusted_code(const std::string& key, const std::string& path, bool has_trust_option,
                              const TrustList& list);

}  // namespace lanista::study
