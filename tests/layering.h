#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace lanista::layering {

/// The table of cmake/layers.txt, closed under "may include whatever those may include".
struct Layers {
  std::map<std::string, std::set<std::string>> may_include;  ///< room -> every room below it, and itself
  std::set<std::string> torch;                               ///< rooms behind the torch wall
};

/// Reads "room[T] -> room room" lines; '#' starts a comment. Throws std::runtime_error for a malformed line, a room
/// that is named but has no row, or a cycle.
Layers read_layers(std::string_view text);

/// An include line of a source file.
struct Include {
  int line = 0;
  std::string path;
  bool quoted = false;
};

/// The include lines of a file, whatever their spacing; commented-out ones do not count.
std::vector<Include> includes_of(const std::filesystem::path& file);

/// The room that an include names: "lanista/<room>/…"; nullopt for any other.
std::optional<std::string> room_of(const Include& include);

/// Whether it is a file of C++.
bool is_source(const std::filesystem::directory_entry& entry);

/// Every broken rule of the sources below `rooms` (one folder a room), as "path:line: what is wrong", sorted.
///
/// Rules: a quoted include is written "lanista/<room>/…" and names a room that the file's room may include; headers
/// of torch, ATen and c10 appear behind the torch wall and in files that end in _test.cpp; every folder has a row.
std::vector<std::string> find_violations(const std::filesystem::path& rooms, const Layers& layers);

}  // namespace lanista::layering
