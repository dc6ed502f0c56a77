#pragma once

#include <string>
#include <string_view>

#include "lanista/base/result.h"

// What a folder holds before it is opened as a zoo, and which names the program writes there.
namespace lanista::zoo {

inline constexpr std::string_view kIndexName = "index.sqlite";
inline constexpr std::string_view kWeightsName = "weights";
inline constexpr std::int64_t kApplicationId = 0x6c7a6f6f;  // "lzoo", in the header of the index

/// What may be done with a folder.
struct FolderFacts {
  bool has_index = false;   ///< there is a file index.sqlite
  bool may_create = false;  ///< it is absent or empty, or creating a zoo in it was interrupted: no file can be lost
};

/// Examines a folder without opening a database, following a link or waiting for a FIFO.
/// Errors: kFailedPrecondition (no zoo, and other files are there: up to three of their names; the index is a file of
/// another program; a link, a FIFO, a device, a file with several names or of another user has the name of one of the
/// program's files), kIo.
Result<FolderFacts> examine_folder(const std::string& folder);

/// The refusal of a folder which holds something else than a zoo.
Error not_a_zoo(const std::string& folder);

/// 64 lowercase hex digits.
bool is_sha256(std::string_view text);
/// 16 lowercase hex digits.
bool is_model_id(std::string_view text);
/// "<64 hex digits>.safetensors".
bool is_weights_file_name(std::string_view name);
/// "tmp-<process>-<16 hex digits>", or with a number in place of the digits as earlier versions wrote it.
bool is_temporary_weights_name(std::string_view name);
/// A new name of that form.
std::string temporary_weights_name();
/// Whether the process in a name of that form has ended.
bool has_writer_ended(std::string_view temporary_name);

}  // namespace lanista::zoo
