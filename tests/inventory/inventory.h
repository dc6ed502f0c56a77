#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

// The inventory of names that foreign files and messages can contain: keys of a study file, and fields of stored
// records and messages. It also has each call that starts a program, loads a library or reads the environment.
namespace lanista::inventory {

/// The kind of a key or field, and its check.
struct Row {
  std::string kind;   ///< what the value is, such as "path read"
  std::string guard;  ///< functions and tests that check it
  int line = 0;       ///< line of the table, from 1
};

/// Returns the rows of a table by full name, such as "data.source" or "engine/records.cpp: pid".
///
/// A line "[SECTION]" has the common beginning of the names below it. Other lines are "KIND | GUARD | NAME NAME …".
/// Malformed lines are added to `mistakes`.
std::map<std::string, Row> read_table(const std::string& path, const std::string& separator,
                                      std::vector<std::string>& mistakes);

/// A file of the source tree without its comments.
struct Source {
  std::string path;  ///< path below src/lanista
  std::string text;  ///< content, with comments replaced by spaces
};

/// Returns the sources of the product, without tests and test support.
std::vector<Source> read_sources(const std::string& root);

/// Returns the names of fields in a source that reads or writes JSON.
///
/// They are the literals in `{"x", …}`, `["x"]`, `at("x")`, `contains("x")`, `value("x", …)`, `reader(json, "x")` and
/// `json_object("x", …)`, and constants of the source in these forms.
std::set<std::string> json_fields(const std::string& source);

/// Returns the columns of the tables that a source creates, such as "models.id".
std::set<std::string> sql_columns(const std::string& text);

/// Returns the calls that start a program, load a library or read the environment.
///
/// For example: "dlopen libcuda.so.1", "getenv HOME", "execv".
std::set<std::string> program_starts_in(const std::string& text);

/// The names in the guard of a row.
struct GuardNames {
  std::vector<std::string> tests;      ///< tests `Unit.Name`
  std::vector<std::string> functions;  ///< functions `name()`
};

/// Returns the names in a guard.
GuardNames names_of_guard(const std::string& guard);

/// Returns all tests of the source tree as "Unit.Name".
std::set<std::string> defined_tests(const std::string& root);

}  // namespace lanista::inventory
