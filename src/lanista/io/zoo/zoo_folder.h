#pragma once

#include <string>
#include <string_view>

#include "lanista/base/result.h"

// Checks of a folder before it is opened as a zoo, and the names that the program writes there.
namespace lanista::zoo {

inline constexpr std::string_view kIndexName = "index.sqlite";  ///< file of the index
inline constexpr std::string_view kWeightsName = "weights";     ///< folder of weights
inline constexpr std::int64_t kApplicationId = 0x6c7a6f6f;      ///< "lzoo", in the header of the index

/// What the program may do with a folder.
struct FolderFacts {
  bool has_index = false;   ///< it has a file index.sqlite
  bool may_create = false;  ///< it is absent or empty, or the creation of a zoo was interrupted, so no file can be lost
};

/// Examines a folder without opening a database, following a link or waiting for a FIFO.
/// Errors: kIo; kFailedPrecondition (no zoo, but other files, with up to three of their names; the index belongs to
/// another program). Also kFailedPrecondition (a link, a FIFO, a device, a file with several names or of another user
/// has the name of one of the program's files).
Result<FolderFacts> examine_folder(const std::string& folder);

/// The error for a folder that contains anything but a zoo.
Error not_a_zoo(const std::string& folder);

/// Whether a text is 64 lower-case hexadecimal digits.
bool is_sha256(std::string_view text);
/// Whether a text is 16 lower-case hexadecimal digits.
bool is_model_id(std::string_view text);
/// Whether a name is "<64 hexadecimal digits>.safetensors".
bool is_weights_file_name(std::string_view name);
/// Whether a name is "tmp-<process>-<16 hexadecimal digits>", or has a number in place of the digits as in earlier
/// versions.
bool is_temporary_weights_name(std::string_view name);
/// A new name of a temporary file.
std::string temporary_weights_name();
/// Whether the process in the name of a temporary file has ended.
bool has_writer_ended(std::string_view temporary_name);

}  // namespace lanista::zoo
