// A zoo folder that another user made: its index is checked before it is used.
#include <gtest/gtest.h>

#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "lanista/io/zoo/index_rows.h"
#include "lanista/io/zoo/warm_start_query.h"
#include "support/io/zoo/load_start.h"
#include "support/io/zoo/test_store.h"

namespace lanista::zoo {
namespace {

namespace fs = std::filesystem;
using namespace testing;
using Mode = Store::Mode;

const graph::OpTable kOps = graph::builtin_ops();

/// A zoo of two models with an index that another program changes.
struct Received {
  Folder folder;
  std::string id, other;

  explicit Received(const std::string& name) : folder("received_" + name) {
    Store store = opened(folder.path());
    id = added(store, random_model(1, 0.9)).id;
    other = added(store, random_model(2, 0.8)).id;
  }
  void sql(const std::string& text) const {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open((folder.path() + "/index.sqlite").c_str(), &db), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(db, text.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
        << text << ": " << sqlite3_errmsg(db);
    sqlite3_close(db);
  }
  std::vector<std::string> findings(const std::string& of) const {
    std::vector<std::string> out;
    const auto found = opened(folder.path(), Mode::kRead).verify(kOps);
    EXPECT_TRUE(found.ok()) << found.error().text();
    for (const Finding& one : *found) {
      if (one.id == of) out.push_back(one.what);
    }
    return out;
  }
};

TEST(StoreReceived, RefusesAnIndexWithAnotherSchemaByName) {
  struct Change {
    const char* sql;
    const char* word;
  };
  const std::string edit = "PRAGMA writable_schema = ON; ";
  for (const auto& [sql, word] :
       {Change{"CREATE TRIGGER bad AFTER UPDATE ON models BEGIN DELETE FROM models; END", "trigger 'bad'"},
        Change{"CREATE VIEW bad AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n",
               "view 'bad'"},
        Change{"CREATE TABLE bad(x)", "table 'bad'"},
        Change{"CREATE INDEX bad ON models(length(graph))", "index 'bad'"},
        Change{"CREATE VIRTUAL TABLE bad USING fts5(x)", "table 'bad"},
        Change{"ALTER TABLE models ADD COLUMN bad AS (length(graph))", "table 'models'"},
        Change{"DROP TABLE leases; CREATE TABLE leases(model TEXT, holder TEXT, until INTEGER CHECK(until > 0))",
               "table 'leases'"},
        Change{"ALTER TABLE queries RENAME TO q; CREATE VIEW queries AS SELECT 1 AS number, 'x' AS task, x'' AS view",
               "'q"},
        Change{"DROP INDEX outcomes_parent", "lacks the index 'outcomes_parent'"},
        Change{"PRAGMA writable_schema = ON; UPDATE sqlite_schema SET rootpage = "
               "(SELECT rootpage FROM sqlite_schema WHERE name = 'outcomes') WHERE name = 'queries'",
               "share a page"}}) {
    SCOPED_TRACE(sql);
    const Received zoo("schema");
    zoo.sql(sql);
    const std::string before = *real_file_system().read(zoo.folder.path() + "/index.sqlite");
    for (const Mode mode : {Mode::kRead, Mode::kChange, Mode::kWrite}) {
      const auto store = Store::open(zoo.folder.path(), mode);
      ASSERT_FALSE(store.ok());
      EXPECT_EQ(store.error().code, Code::kFailedPrecondition);
      EXPECT_NE(store.error().message.find(word), std::string::npos) << store.error().message;
    }
    EXPECT_EQ(*real_file_system().read(zoo.folder.path() + "/index.sqlite"), before);
  }
}

TEST(StoreReceived, NeverLeavesTheFolderOfWeights) {
  for (const std::string name : {"../../victim", "/etc/passwd", "../victim", "", "x", "a/b"}) {
    SCOPED_TRACE(name);
    const Received zoo("names");
    const std::string victim = zoo.folder.path() + "/victim.safetensors";
    std::ofstream(victim) << "a file of the user";
    zoo.sql("UPDATE models SET weights = '" + name + "' WHERE id = '" + zoo.id + "'; UPDATE tensors SET weights = '" +
            name + "' WHERE weights NOT IN (SELECT weights FROM models)");
    std::vector<std::string> skipped;
    {
      const Store reader = opened(zoo.folder.path(), Mode::kRead);
      EXPECT_EQ(reader.list(&skipped)->size(), 1U);
      EXPECT_EQ(reader.weights(zoo.id).error().code, Code::kDataLoss);
      EXPECT_EQ(reader.show(zoo.id).error().code, Code::kDataLoss);
    }
    ASSERT_EQ(skipped.size(), 1U);
    EXPECT_NE(skipped.front().find("allowed are 64 hex digits"), std::string::npos) << skipped.front();
    EXPECT_FALSE(zoo.findings(zoo.id).empty());
    Store store = opened(zoo.folder.path());
    const auto start = testing::load_start(store, random_model(1, 0).graph, kDigits, kOps);
    ASSERT_TRUE(start.ok()) << start.error().text();
    EXPECT_TRUE(!start->has_value() || (*start)->start.parent_match.entry.id == zoo.other);
    EXPECT_TRUE(store.remove(zoo.id).ok());
    EXPECT_TRUE(store.gc(0).ok());
    EXPECT_EQ(*real_file_system().read(victim), "a file of the user");
    EXPECT_TRUE(store.weights(zoo.other).ok());
  }
}

TEST(StoreReceived, SkipsInvalidRows) {
  struct Change {
    const char* set;
    const char* word;
  };
  for (const auto& [set, word] :
       {Change{"state = 'new' || char(10) || 'line'", "'new?line'; allowed are live"},
        Change{"id = 'x' || char(27) || '[2J'", "an id is 16 hex digits"},
        Change{"graph_hash = 'zz'", "allowed are 32 hex digits"},
        Change{"nodes = -1", "number of nodes is -1; allowed are 0 to 100000"},
        Change{"nodes = 100001", "number of nodes"}, Change{"bytes = -9223372036854775808", "number of bytes"},
        Change{"params = 9223372036854775807", "number of parameters"},
        Change{"quality = 9e999", "its quality is not finite"},
        Change{"origin = printf('%065537d', 1)", "its origin has 65537 bytes; allowed are 65536"},
        Change{"task = printf('%065537d', 1)", "its task has"}, Change{"why = printf('%065537d', 1)", "its reason has"},
        Change{"facts = printf('%01048577d', 1)", "its facts have 1048577 bytes"},
        Change{"facts = '{\"a\":' || replace(printf('%065d', 0), '0', '[')", "nested 64 deep"}}) {
    SCOPED_TRACE(set);
    const Received zoo("rows");
    zoo.sql("UPDATE models SET " + std::string(set) + " WHERE id = '" + zoo.id + "'");
    std::vector<std::string> skipped;
    const Store store = opened(zoo.folder.path());
    const auto models = store.list(&skipped);
    ASSERT_TRUE(models.ok()) << models.error().text();
    ASSERT_EQ(models->size(), 1U);
    EXPECT_EQ(models->front().id, zoo.other);
    ASSERT_EQ(skipped.size(), 1U);
    EXPECT_NE(skipped.front().find(word), std::string::npos) << skipped.front();
    EXPECT_EQ(skipped.front().find_first_of("\n\x1b"), std::string::npos);
    const auto found = store.verify(kOps);
    ASSERT_TRUE(found.ok());
    EXPECT_TRUE(
        std::ranges::any_of(*found, [&](const Finding& one) { return one.what.find(word) != std::string::npos; }));
  }
}

TEST(StoreReceived, ReadsNoMoreBytesThanTheFileHas) {
  const Received zoo("bomb");
  zoo.sql(
      "INSERT INTO tensors SELECT weights, place + 1000 * x, name || x, type, shape, begin, bytes, sha256 FROM "
      "tensors, "
      "(WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 100) SELECT x FROM n)");

  const auto weights = opened(zoo.folder.path()).weights(zoo.id);

  ASSERT_FALSE(weights.ok());
  EXPECT_EQ(weights.error().code, Code::kDataLoss);
  EXPECT_NE(weights.error().message.find("more bytes than its file"), std::string::npos) << weights.error().message;
}

TEST(StoreReceived, RejectsModelsItCouldNotRead) {
  const Folder folder("received_new");
  Store store = opened(folder.path());
  NewModel model = random_model(1, 0.9);
  model.origin = std::string(kMaxText + 1, 'x');
  EXPECT_EQ(store.add(model, kOps).error().code, Code::kInvalidArgument);
  model.origin = "test";
  for (std::size_t k = 0; k <= kMaxFactsDepth; ++k) model.facts = {{"a", model.facts}};
  EXPECT_EQ(store.add(model, kOps).error().code, Code::kInvalidArgument);
  model.facts = nlohmann::json::object();
  const std::string id = added(store, model).id;
  ASSERT_TRUE(store.quarantine(id, std::string(2 * kMaxText, 'x')).ok());
  EXPECT_EQ(store.list()->size(), 1U) << "a reason is cut";
}

// Any column may hold any value, and every call returns a result or an error. Without LANISTA_WHOLE_ZOO it runs a
// fourth of the cases.
TEST(StoreReceived, SurvivesAnyValueInAnyColumn) {
  const Received zoo("any");
  const Folder copy("received_any_copy");
  fs::copy(zoo.folder.path(), copy.path(), fs::copy_options::recursive);
  const std::vector<std::pair<std::string, std::vector<std::string>>> tables{
      {"models", {"id",     "task",   "family", "state",  "why",     "graph_hash", "relaxed_hash",
                  "graph",  "view",   "nodes",  "params", "weights", "bytes",      "quality",
                  "metric", "origin", "facts",  "added",  "change",  "pinned",     "hits"}},
      {"tensors", {"weights", "place", "name", "type", "shape", "begin", "bytes", "sha256"}},
      {"signatures", {"number", "text"}},
      {"meta", {"value"}}};
  const std::vector<std::string> values{"-1",
                                        "9223372036854775807",
                                        "-9223372036854775808",
                                        "1e308",
                                        "''",
                                        "'../../x'",
                                        "x'00'",
                                        "zeroblob(70000)",
                                        "randomblob(100)",
                                        "'linear' || char(10) || replace(printf('%0400d', 0), '0', '1099511627776,')",
                                        "'[' || replace(printf('%0500d', 0), '0', '[')"};
  const bool whole = std::getenv("LANISTA_WHOLE_ZOO") != nullptr;
  int cases = 0;
  for (const auto& [table, columns] : tables) {
    for (const std::string& column : columns) {
      for (const std::string& value : values) {
        if (++cases % 4 != 0 && !whole) continue;
        SCOPED_TRACE(table + "." + column + " = " + value);
        fs::copy_file(zoo.folder.path() + "/index.sqlite", copy.path() + "/index.sqlite",
                      fs::copy_options::overwrite_existing);
        sqlite3* db = nullptr;
        ASSERT_EQ(sqlite3_open((copy.path() + "/index.sqlite").c_str(), &db), SQLITE_OK);
        sqlite3_exec(db, "PRAGMA synchronous = OFF", nullptr, nullptr, nullptr);
        // A type or a key refuses some values. Then nothing is tested.
        const std::string one_row = table == "models" ? " WHERE id = '" + zoo.id + "'" : "";
        sqlite3_exec(db, ("UPDATE OR IGNORE " + table + " SET " + column + " = " + value + one_row).c_str(), nullptr,
                     nullptr, nullptr);
        sqlite3_close(db);
        auto store = Store::open(copy.path(), Mode::kRead);
        ASSERT_TRUE(store.ok()) << store.error().text();
        (void)store->list().ok();
        (void)store->verify(kOps).ok();
        for (const std::string& id : {zoo.id, zoo.other}) {
          (void)store->show(id).ok();
          (void)store->weights(id).ok();
          (void)store->expected_gain(id).ok();
        }
        (void)query(*store, random_model(1, 0).graph, kDigits, kOps, {.related = true}).ok();
        (void)query(*store, random_model(5, 0).graph, kDigits, kOps).ok();
      }
    }
  }
}

// Reading a zoo in a folder without write permission; as root the test becomes another user.
TEST(StoreReceived, ReadsAFolderWithoutWritePermission) {
  const Received zoo("readonly");
  ASSERT_EQ(::chmod((zoo.folder.path() + "/index.sqlite").c_str(), 0444), 0);
  ASSERT_EQ(::chmod(zoo.folder.path().c_str(), 0555), 0);
  const std::string before = *real_file_system().read(zoo.folder.path() + "/index.sqlite");
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    if (::geteuid() == 0 && ::setuid(65534) != 0) ::_exit(9);
    const auto store = Store::open(zoo.folder.path(), Mode::kRead);
    if (!store) ::_exit(1);
    if (store->list()->size() != 2) ::_exit(2);
    if (!store->weights(zoo.id)) ::_exit(3);
    if (!store->verify(kOps)) ::_exit(4);
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(real_file_system().list(zoo.folder.path())->size(), 2U);
  EXPECT_EQ(*real_file_system().read(zoo.folder.path() + "/index.sqlite"), before);
  ::chmod(zoo.folder.path().c_str(), 0755);
}

TEST(StoreReceived, LeavesFolderUnchangedWhenReading) {
  const Received zoo("traceless");
  const auto names = [&] { return *real_file_system().list(zoo.folder.path()); };
  const std::string before = *real_file_system().read(zoo.folder.path() + "/index.sqlite");
  const auto before_names = names();
  {
    const Store store = opened(zoo.folder.path(), Mode::kRead);
    EXPECT_EQ(store.list()->size(), 2U);
    EXPECT_TRUE(store.verify(kOps)->empty());
  }
  EXPECT_EQ(names(), before_names);
  EXPECT_EQ(*real_file_system().read(zoo.folder.path() + "/index.sqlite"), before);
}

}  // namespace
}  // namespace lanista::zoo
