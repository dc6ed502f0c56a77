#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "reference/keys.h"
#include "reference/markdown.h"

// The pages of docs/reference with tables that are made from the program's own tables.
namespace lanista::reference {

/// All reference tables, by the names of their blocks.
class Reference {
 public:
  /// Reads the pages and the notes of a source tree. Throws std::runtime_error for a page or a note that cannot be
  /// read.
  explicit Reference(const std::filesystem::path& source);

  /// Returns the pages of the source tree by path below docs/reference.
  const std::map<std::string, std::string>& pages() const { return pages_; }

  /// Returns a page with all blocks generated again. Throws std::runtime_error for an unknown block.
  std::string written(const std::string& page) const;

  /// Returns all rows of keys, with the options of strategies and stopping rules.
  std::vector<Key> keys() const;

  /// Returns the page with the row of a key, "" if no block lists it.
  std::string page_of(const Key& key) const;

 private:
  std::string block(const std::string& page, const std::string& name) const;
  std::string key_table(const std::string& page, const std::vector<Key>& keys) const;
  std::string sections() const;
  std::string index() const;

  std::map<std::string, std::string> pages_;
  std::map<std::string, std::string> page_of_prefix_;  ///< "train.select" -> "study-file/train.md"
  std::map<std::string, KeyNotes> notes_;
  std::vector<Key> schema_keys_;
};

/// Returns a block without keys of the study file, "" for an unknown block.
std::string other_block(const std::string& name, const std::map<std::string, KeyNotes>& notes);

/// Returns the Markdown cells of a key with the name `shown`: key, type, default, allowed, meaning, example.
Row key_row(const Key& key, const std::string& shown);

extern const Row kKeyHeader;  ///< header of tables of keys

}  // namespace lanista::reference
