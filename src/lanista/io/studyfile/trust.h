#pragma once

#include <string>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/io/studyfile/code_copy.h"

// The rule for keys of a study file that run code. A study file may come from another person, so such a key starts
// nothing by itself. It starts only after `--trust`, or if the user has put the hash of the code on a private list.
namespace lanista::study {

/// One entry of the list of trusted code.
struct TrustEntry {
  std::string hash;  ///< hash of the code, as CodeCopy::hash
  std::string path;  ///< path of the code when it was added, for users; no check reads it
  bool operator==(const TrustEntry&) const = default;
};

/// The path of the list of trusted code: lanista/trusted below `xdg_config`, else below .config in `home_directory`.
/// These are the values of $XDG_CONFIG_HOME and $HOME; null, empty, or no absolute path means not set. Errors:
/// kFailedPrecondition (neither is set).
Result<std::string> trust_list_path(const char* xdg_config, const char* home_directory);

/// The user's private list of code that may run. add() makes a missing folder with mode 0700, and writes the file with
/// mode 0600; only their user may write them. Two processes may change it at the same time. Not thread-safe.
class TrustList {
 public:
  /// Reads the list in `file`; a file that does not exist is an empty list. Errors: kFailedPrecondition (the file or
  /// its folder is a link, is no regular file, belongs to another user, or others may write it), kDataLoss (a line that
  /// is no entry), kResourceExhausted (above 4 MiB), kIo.
  static Result<TrustList> open(const std::string& file);

  const std::string& file() const { return file_; }
  const std::vector<TrustEntry>& entries() const { return entries_; }
  bool contains(const std::string& hash) const;  ///< true: the list has this hash, so the code may run

  /// Adds the hash and path of `code` to the list in the file and here; no error if the hash is there. Errors: those of
  /// open(); kUnavailable (another process holds the list for 10 s).
  Result<void> add(const CodeCopy& code);
  /// Removes the entries with this hash, or with this path, from the file and here, and returns them. Errors: those of
  /// add(); kNotFound (no such entry).
  Result<std::vector<TrustEntry>> remove(const std::string& hash_or_path);

 private:
  std::string file_;
  std::vector<TrustEntry> entries_;
};

/// Succeeds if `code`, which the key `key` of a study file names, may run. It may if `has_trust_option` (the user gave
/// --trust) or the list has its hash. Errors: kFailedPrecondition at `key` (otherwise; the message has the path, the
/// hash, and the two ways to allow it).
Result<void> may_run(const std::string& key, const CodeCopy& code, bool has_trust_option, const TrustList& list);

/// Reads the code at `path` with read_code(), checks it with may_run(), and returns the copy to run. It may run if
/// `has_trust_option` (--trust was given) or `list` has its hash. `key` is the key of the study file that names it.
/// Errors: those of both functions.
Result<CodeCopy> trusted_code(const std::string& key, const std::string& path, bool has_trust_option,
                              const TrustList& list);

}  // namespace lanista::study
