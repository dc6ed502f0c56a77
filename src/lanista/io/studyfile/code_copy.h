#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lanista/base/result.h"

namespace lanista::study {

/// A copy in memory of a file or folder of code, with the hash of exactly these bytes. A caller runs `entries` and not
/// the path, since the file at the path may have changed.
struct CodeCopy {
  /// The kind of an entry. A program is a file that its owner may execute.
  enum class Kind { kFile, kProgram, kFolder };
  /// One file or folder of the copy.
  struct Entry {
    std::string name;         ///< path relative to the folder, with '/'; empty for a single file
    Kind kind = Kind::kFile;  ///< file, program or folder
    std::string bytes;        ///< its content; empty for a folder
  };

  std::string path;            ///< absolute path of the file or folder that was read
  bool is_folder = false;      ///< true: the path is a folder
  std::vector<Entry> entries;  ///< sorted by name
  std::string hash;            ///< "file:" or "folder:" and 64 hex digits of SHA-256; see hash_of_code
};

/// Limits of one copy; more is an error.
struct CodeLimits {
  std::uint64_t bytes = std::uint64_t{256} << 20;  ///< bytes of all files together
  std::size_t entries = 10'000;                    ///< number of files and folders
  std::size_t depth = 32;                          ///< levels of nested folders, the folder itself included
};

/// Reads a file, or a folder with all files and folders below it. A link at `path` itself is followed; a link below a
/// folder is refused, and so is anything but files and folders. Never waits for a FIFO. O(bytes). Errors: kNotFound,
/// kInvalidArgument (an empty path, a link below the folder, a FIFO, a socket, a device), kResourceExhausted (a limit),
/// kIo.
Result<CodeCopy> read_code(const std::string& path, const CodeLimits& limits = {});

/// The hash of the entries of a copy. Of a file: "file:" and the SHA-256 of its bytes, as sha256sum prints it. Of a
/// folder: "folder:" and the SHA-256 of a list with the kind, the SHA-256 and the name of each entry.
std::string hash_of_code(const CodeCopy& code);

}  // namespace lanista::study
