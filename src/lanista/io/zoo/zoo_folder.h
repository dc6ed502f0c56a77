#pragma once

#include <string>
#include <string_view>

#include "lanista/base/result.h"

// Checks of a folder before it is opened as a zoo, and the names that the program writes there.
namespace lanista::zoo {

inline constexpr std::string_view kIndexName = "index.sqlite";  ///< file of the index
inline constexpr std::string_view kWeightsName = "weights";     ///< folder of weights
inline constexpr std::int64_t kApplicationId = 0x6c7a6f6f;      ///< "lzoo", the SQLite application id of the index

/// The result of examine_folder(): what the program may do with a folder.
struct FolderFacts {
  bool has_index = false;  ///< true: it has a file index.sqlite
  /// True: a zoo may be created here; the folder is absent, empty, or from an interrupted creation.
  bool may_create = false;
};

/// Examines whether a folder is a zoo or may become one. It opens no database, follows no link, and waits for no FIFO.
/// Errors: kIo; kFailedPrecondition (no zoo, but other files, with up to three of their names; the index belongs to
/// another program). Also kFailedPrecondition (a link, a FIFO, a device, a file with several names or of another user
/// has the name of one of the program's files).
Result<FolderFacts> examine_folder(const std::string& folder);

/// The error (kFailedPrecondition) for a folder with a file index.sqlite that is not the index of a zoo.
Error not_a_zoo(const std::string& folder);

/// True means that `text` is 64 lower-case hexadecimal digits.
bool is_sha256(std::string_view text);
/// True means that `text` is 16 lower-case hexadecimal digits.
bool is_model_id(std::string_view text);
/// True means that `name` is "<64 lower-case hexadecimal digits>.safetensors".
bool is_weights_file_name(std::string_view name);
/// True means that `name` is "tmp-<process id>-<16 hexadecimal digits>". Earlier versions had a decimal number in place
/// of the digits.
bool is_temporary_weights_name(std::string_view name);
/// A new random name of a temporary file of this process, for which is_temporary_weights_name() is true.
std::string temporary_weights_name();
/// True means that no process of this host has the process id in the name of a temporary file. Precondition:
/// is_temporary_weights_name().
bool has_writer_ended(std::string_view temporary_name);

}  // namespace lanista::zoo
