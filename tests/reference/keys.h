#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "lanista/base/options.h"

// The keys of the study file as rows of reference tables.
namespace lanista::reference {

/// One key of the study file with the text of its table cells.
struct Key {
  std::string path;  ///< "train.epochs"; "train.select.NAME.clock" if all selectors have the option
  std::string type, default_value, allowed;
  std::string help;     ///< one sentence
  std::string example;  ///< a fragment of a study file, on one line
};

/// What the schema cannot express about a key. Read from tests/reference/study_keys.txt.
struct KeyNotes {
  std::string example;
  std::string default_value, allowed;  ///< empty: the schema has it
};

/// Returns the rows `PATH | EXAMPLE | DEFAULT | ALLOWED` of the table by path. The last two cells are optional.
///
/// A path may end in ".*": its example applies to all keys below, with KEY and VALUE as placeholders. Throws
/// std::runtime_error for a row with another number of cells and for a path that is listed twice.
std::map<std::string, KeyNotes> read_key_notes(const std::filesystem::path& file);

/// Returns all keys of the schema `lanista check --schema`, except options of strategies and stopping rules, which are
/// keys of `strategy` and `stop` and have several meanings. Sections are keys too.
std::vector<Key> schema_keys(const nlohmann::json& schema, const std::map<std::string, KeyNotes>& notes);

/// Returns the options of a plug-in. The path of each is `section`.NAME, its notes are those of
/// `section`(`plugin`).NAME.
std::vector<Key> plugin_keys(const std::string& section, const std::string& plugin,
                             const std::vector<OptionSpec>& options, const std::map<std::string, KeyNotes>& notes);

/// Returns each path of the schema: "train", "train.epochs", "train.select.random.keep".
std::vector<std::string> schema_paths(const nlohmann::json& schema);

/// True if `key` is the row of `path`: the paths are equal, or equal with NAME for one part.
bool is_row_of(const Key& key, const std::string& path);

}  // namespace lanista::reference
