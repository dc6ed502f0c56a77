#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

// The inventory of everything that a file or a message of another person can name: keys of a study file, fields of
// stored records and of messages, and the places where the program starts a program, loads a library or reads the
// environment.
namespace lanista::inventory {

/// What a key or a field names, and what guards it.
struct Row {
  std::string kind, guard;
  int line = 0;
};

/// A table of rows by full name: "data.source", "engine/records.cpp: pid". Its text has a line "[SECTION]" for what the
/// names below it have in common, and lines "KIND | GUARD | NAME NAME …". Mistakes of the text go to `mistakes`.
std::map<std::string, Row> read_table(const std::string& path, const std::string& separator,
                                      std::vector<std::string>& mistakes);

/// A file of the source tree without its comments.
struct Source {
  std::string path;  ///< below src/lanista
  std::string text;
};

/// The sources of the product: no tests and nothing that only tests use.
std::vector<Source> read_sources(const std::string& root);

/// The names of fields in a source that reads or writes JSON: the literals in `{"x", …}`, `["x"]`, `at("x")`,
/// `contains("x")`, `value("x", …)`, `reader(json, "x")` and `json_object("x", …)`, also by constants of the source.
std::set<std::string> json_fields(const std::string& source);

/// The columns of the tables that a source creates: "models.id".
std::set<std::string> sql_columns(const std::string& text);

/// Calls that start a program, load a library or read the environment: "dlopen libcuda.so.1", "getenv HOME", "execv".
std::set<std::string> program_starts_in(const std::string& text);

/// What a guard names: tests `Unit.Name`, and functions `name()`.
struct GuardNames {
  std::vector<std::string> tests, functions;
};
GuardNames names_of_guard(const std::string& guard);
/// All tests of the source tree, "Unit.Name".
std::set<std::string> defined_tests(const std::string& root);

}  // namespace lanista::inventory
