#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "inventory/inventory.h"
#include "lanista/io/data/readers.h"
#include "lanista/io/store/log.h"
#include "lanista/io/studyfile/study_file.h"
#include "support/engine/core/test_support.h"

// Each key of a study file and each field of a stored record or message has a row with its kind and its check. A new
// name without a row fails here.

namespace lanista::inventory {
namespace {

using nlohmann::json;

const std::string kRoot = LANISTA_SOURCE_DIR;
const std::string kTables = kRoot + "/tests/inventory/";

/// The kinds of a row:
/// - "plain value": a number, a flag, or a word of a closed list.
/// - "group": a mapping of other keys.
/// - "text": free text, which is only shown or compared.
/// - "network": text of a graph, which is parsed and never run.
/// - "path read": a file or a folder that is read.
/// - "folder written": a folder in which the program writes and removes files.
/// - "name composed": a part of the name of a file or a folder.
/// - "checkpoint address": the name of a file of the checkpoint store.
/// - "host": a host to which ssh connects.
/// - "option of srun": an option on the command line of srun.
/// - "program": a program that is started.
/// - "library": a library that is loaded.
/// - "device": a choice between code of this program and of its own library.
/// - "process": the number of a process.
/// - "socket": an end of a channel between engine and worker.
const std::set<std::string> kKinds{"plain value",    "group",         "text",
                                   "network",        "path read",     "library",
                                   "folder written", "name composed", "checkpoint address",
                                   "host",           "program",       "option of srun",
                                   "device",         "process",       "socket"};

void add_properties(const json& node, const std::string& path, std::set<std::string>& keys) {
  if (!node.is_object()) return;
  const auto below = [&](const std::string& name) { return path.empty() ? name : path + "." + name; };
  if (node.contains("properties")) {
    for (const auto& [name, value] : node["properties"].items()) {
      keys.insert(below(name));
      add_properties(value, below(name), keys);
    }
  }
  for (const char* list : {"anyOf", "oneOf", "allOf"}) {
    if (!node.contains(list)) continue;
    for (const json& each : node[list]) add_properties(each, path, keys);
  }
  if (node.contains("items")) add_properties(node["items"], path, keys);
  if (node.contains("additionalProperties")) add_properties(node["additionalProperties"], below("*"), keys);
  if (!node.contains("propertyNames")) return;
  for (const json& name : node["propertyNames"].value("enum", json::array()))
    keys.insert(below(name.get<std::string>()));
}

/// Returns all keys of the schema, and the options of data sources, which are part of one text.
std::set<std::string> study_keys() {
  std::set<std::string> keys;
  add_properties(studyfile::study_json_schema(), "", keys);
  for (const data::SourceKind& kind : data::source_kinds()) {
    const std::string source = "data.source." + std::string(kind.name);
    keys.insert(source);
    for (const auto& option : kind.options) keys.insert(source + "." + std::string(option.name));
  }
  return keys;
}

/// Returns whether a source has no stored record: it prints, or its keys are those of the study file.
bool stores_nothing(const std::string& path) {
  for (const std::string_view module :
       {"bench/", "app/", "exec/kernels/", "search/sampler/", "search/halving/", "io/studyfile/"}) {
    if (path.starts_with(module)) return true;
  }
  return false;
}

std::set<std::string> stored_fields() {
  std::set<std::string> fields;
  for (const Source& source : read_sources(kRoot)) {
    for (const std::string& column : sql_columns(source.text)) fields.insert(source.path + ": " + column);
    // The facts of a state are stored as texts by name, without JSON.
    const bool stores = source.text.find("json") != std::string::npos ||
                        source.text.find("std::map<std::string, std::string>& facts") != std::string::npos;
    if (stores_nothing(source.path) || !stores) continue;
    for (const std::string& field : json_fields(source.text)) fields.insert(source.path + ": " + field);
  }
  return fields;
}

std::set<std::string> program_starts() {
  std::set<std::string> places;
  for (const Source& source : read_sources(kRoot)) {
    for (const std::string& start : program_starts_in(source.text)) places.insert(source.path + ": " + start);
  }
  return places;
}

/// Kinds that need a function or a test in their guard.
const std::set<std::string> kGuarded{"path read", "folder written", "checkpoint address", "host", "option of srun"};

/// Returns the mistakes of a guard: a test or function that does not exist, or no name where one is needed.
std::vector<std::string> mistakes_of(const Row& row, const std::set<std::string>& tests, const std::string& sources) {
  std::vector<std::string> mistakes;
  const GuardNames names = names_of_guard(row.guard);
  for (const std::string& test : names.tests) {
    if (!tests.contains(test)) mistakes.push_back("there is no test " + test);
  }
  for (const std::string& function : names.functions) {
    if (sources.find(function + "(") == std::string::npos) mistakes.push_back("there is no function " + function);
  }
  if (kGuarded.contains(row.kind) && names.tests.empty() && names.functions.empty()) {
    mistakes.push_back("the guard of a " + row.kind + " names no function and no test");
  }
  return mistakes;
}

/// Checks that each name has a row, and that each row is for a name.
void expect_complete(const std::string& file, const std::string& separator, const std::set<std::string>& names) {
  std::vector<std::string> mistakes;
  const auto rows = read_table(kTables + file, separator, mistakes);
  const std::set<std::string> tests = defined_tests(kRoot);
  std::string sources;
  for (const Source& source : read_sources(kRoot)) sources += source.text;
  for (const std::string& name : names) {
    if (!rows.contains(name)) mistakes.push_back("no row for '" + name + "': write what it names and what guards it");
  }
  for (const auto& [name, row] : rows) {
    const std::string where = "line " + std::to_string(row.line) + ": ";
    if (!names.contains(name)) mistakes.push_back(where + "'" + name + "' is gone; remove it from its row");
    if (!kKinds.contains(row.kind)) mistakes.push_back(where + "'" + row.kind + "' is no kind");
    for (const std::string& mistake : mistakes_of(row, tests, sources)) mistakes.push_back(where + mistake);
  }
  for (const std::string& mistake : mistakes) ADD_FAILURE() << "tests/inventory/" << file << ": " << mistake;
}

TEST(Inventory, HasEachKeyOfTheStudyFile) { expect_complete("study_keys.txt", ".", study_keys()); }

TEST(Inventory, HasEachFieldOfStoredRecordsAndMessages) { expect_complete("stored_fields.txt", ": ", stored_fields()); }

TEST(Inventory, HasEachProgramStartAndEnvironmentRead) { expect_complete("starts.txt", ": ", program_starts()); }

// The scan of the sources finds each field of real records.
TEST(Inventory, FindsTheFieldsOfRealRecords) {
  std::set<std::string> known;
  for (const std::string& field : stored_fields()) known.insert(field.substr(field.rfind(' ') + 1));
  for (const Source& source : read_sources(kRoot)) {
    if (source.path.starts_with("strategy/") || source.path.starts_with("studyfile/")) {
      for (const std::string& field : json_fields(source.text)) known.insert(field);
    }
  }
  // Names below these are those of metrics, hyper-parameters, options of mutators, or classes.
  const std::set<std::string> named_by_study{"metrics", "sample", "options", "budget", "costs", "changes", "test"};
  std::set<std::string> seen;
  const std::function<void(const json&)> walk = [&](const json& value) {
    if (value.is_array()) {
      for (const json& each : value) walk(each);
    }
    if (!value.is_object()) return;
    for (const auto& [name, each] : value.items()) {
      seen.insert(name);
      EXPECT_TRUE(known.contains(name)) << "'" << name << "' of a real record was not found in any source";
      if (!named_by_study.contains(name)) walk(each);
    }
  };
  using namespace engine::testing;
  for (const char* rule : {"asha", "none", "hyperband"}) {
    study::StudyConfig config = small_study(8);
    if (rule != std::string_view("asha")) config.stop = {rule, json::object()};
    const auto resolved = studyfile::read_study(studyfile::write_study(config), "study.yaml");
    ASSERT_TRUE(resolved.ok()) << resolved.error().text();
    Bench bench;
    const auto run = bench.run(*resolved, engine::FakeOptions{.seed = 3});
    ASSERT_TRUE(run.ok()) << run.error().text();
    const auto records = store::read_log(bench.disk, kFolder);
    ASSERT_TRUE(records.ok());
    for (const store::Record& record : *records) walk(record.body);
    const auto package = bench.disk.read(kFolder + "/best/package.json");
    if (package) walk(json::parse(*package));
  }
  EXPECT_GT(seen.size(), 40U) << "the studies wrote something";
}

TEST(Inventory, ScansEachFormOfAField) {
  const std::string source = R"(
    constexpr const char* kKey = "a";
    json out{{"b", 1}, {"c", f(x)}};
    out["d"] = in.at("e");
    if (in.contains("f")) g(in.value("g", 0));
    text(member(in, "h"), "i"); fields::real(all[0], "j"); out[kKey] = 1;
    json_object("k", f("no", "x"), "l", "no field");
    t("m", x)("n", y).optional("o", z).at_least(1, "p", q);
    if (t.has("q", true)) t.via("r", x, write, read).list("s", xs, table);
    t.or_text("none", "u", fold); amount(t, 0, "v", shape.widest); args.list("no field");
    message("no field"); Error{Code::kIo, "none", ""};)";
  EXPECT_EQ(json_fields(source), (std::set<std::string>{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k",
                                                        "l", "m", "n", "o", "p", "q", "r", "s", "u", "v"}));
  EXPECT_EQ(sql_columns("CREATE TABLE t(a TEXT, b INTEGER CHECK(b > 0), PRIMARY KEY(a, b));\nCREATE TABLE u(c BLOB)"),
            (std::set<std::string>{"t.a", "t.b", "u.c"}));
  EXPECT_EQ(
      program_starts_in("::dlopen(\"x.so\", 1); ::execv(p, w); std::getenv(\"HOME\"); std::system(c); file_system(y);"),
      (std::set<std::string>{"dlopen:x.so", "execv", "getenv:HOME", "system"}));
}

}  // namespace
}  // namespace lanista::inventory
