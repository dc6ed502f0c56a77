#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lanista/base/result.h"

namespace lanista::study {

/// Code that was read once, together with the hash of exactly these bytes. A caller runs `entries` and not the path,
/// where another file may be by then.
struct CodeCopy {
  /// The kind of an entry. A program has the owner's execute bit.
  enum class Kind { kFile, kProgram, kFolder };
  /// A file or a folder.
  struct Entry {
    std::string name;         ///< below the folder, with '/'; empty for a single file
    Kind kind = Kind::kFile;  ///< what it is
    std::string bytes;        ///< its content; empty for a folder
  };

  std::string path;            ///< absolute
  bool is_folder = false;      ///< whether the path is a folder
  std::vector<Entry> entries;  ///< sorted by name
  std::string hash;            ///< "file:" or "folder:" and 64 hex digits of SHA-256; see hash_of_code
};

/// Limits of one copy.
struct CodeLimits {
  std::uint64_t bytes = std::uint64_t{256} << 20;  ///< of all files
  std::size_t entries = 10'000;                    ///< files and folders
  std::size_t depth = 32;                          ///< levels of folders
};

/// Reads a file, or a folder with all that is below it, through descriptors. A link at `path` itself is followed; a
/// link below a folder is refused, and so is anything but files and folders. Never waits for a FIFO. O(bytes). Errors:
/// kNotFound, kInvalidArgument (a link, a FIFO, a device), kResourceExhausted (a limit), kIo.
Result<CodeCopy> read_code(const std::string& path, const CodeLimits& limits = {});

/// The hash of a copy. Of a file: SHA-256 of its bytes, as sha256sum prints it. Of a folder: SHA-256 of a list with the
/// kind, the SHA-256 and the name of each entry. The two differ in their first word, so no file has the hash of a
/// folder.
std::string hash_of_code(const CodeCopy& code);

}  // namespace lanista::study
