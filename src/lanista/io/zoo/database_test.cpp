#include "lanista/io/zoo/database.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "lanista/base/file_system.h"
#include "support/io/zoo/test_store.h"

namespace lanista::zoo {
namespace {

using Access = Database::Access;
using testing::Folder;

constexpr const char* kEndless =
    "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n";

Database created(const Folder& folder, std::int64_t fixed_query_cost = Database::kFixedQueryCost) {
  std::filesystem::create_directories(folder.path());
  auto out = Database::open(folder.path() + "/index.sqlite", Access::kCreate, fixed_query_cost);
  EXPECT_TRUE(out.ok()) << out.error().text();
  return *std::move(out);
}

TEST(Database, StopsEndlessStatement) {
  const Folder folder("endless");
  Database index = created(folder);

  const auto done = index.run(kEndless);

  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().code, Code::kResourceExhausted);
  EXPECT_NE(done.error().message.find("more than 10000000 steps"), std::string::npos) << done.error().message;
  EXPECT_TRUE(index.run("CREATE TABLE t(x)").ok()) << "the next statement has its own limit";
}

TEST(Database, DeletesNoFileThatItsJournalNames) {
  const Folder folder("super_journal");
  const std::string index = folder.path() + "/index.sqlite", victim = folder.path() + "/victim";
  ASSERT_TRUE(created(folder).run("CREATE TABLE t(x)").ok());
  std::ofstream(victim) << "a file of the user";
  std::ofstream(index + "-journal", std::ios::binary)
      << testing::journal_naming(victim, *real_file_system().read(index));

  for (const Access access : {Access::kRead, Access::kWrite}) {
    auto opened = Database::open(index, access);
    if (opened) static_cast<void>(opened->run("SELECT count(*) FROM t"));
    EXPECT_EQ(*real_file_system().read(victim), "a file of the user");
  }
}

TEST(Database, AddsOneStepPerByteOfFile) {
  const Folder folder("bytes");
  constexpr std::int64_t kFixed = 2'000, kRows = 20'000;
  {
    Database index = created(folder);
    ASSERT_TRUE(index.run("CREATE TABLE t(x TEXT)").ok());
    ASSERT_TRUE(index
                    .run("INSERT INTO t WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT " +
                         std::to_string(kRows) + ") SELECT printf('%064d', x) FROM n")
                    .ok());
  }
  auto index = Database::open(folder.path() + "/index.sqlite", Access::kRead, kFixed);
  ASSERT_TRUE(index.ok()) << index.error().text();
  std::int64_t rows = 0;

  const auto once =
      index->each("SELECT x FROM t", {}, [&](const SqlRow&) -> Result<void> { return ++rows, Result<void>(); });
  const auto squared = index->run("SELECT count(*) FROM t a CROSS JOIN t b");

  EXPECT_TRUE(once.ok()) << once.error().text();
  EXPECT_EQ(rows, kRows);
  ASSERT_FALSE(squared.ok());
  EXPECT_EQ(squared.error().code, Code::kResourceExhausted);
}

TEST(Database, CountsTheBytesOfRows) {
  const Folder folder("rows");
  Database index = created(folder, 100'000);

  const auto done = index.run(
      "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 10) SELECT zeroblob(1000000) FROM n");

  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().code, Code::kResourceExhausted);
}

TEST(Database, RejectsStatementsOutsideTheFile) {
  const Folder folder("outside");
  Database index = created(folder);
  const std::string victim = folder.path() + "/victim";

  EXPECT_FALSE(index.run("ATTACH '" + victim + "' AS other").ok());
  EXPECT_FALSE(index.run("VACUUM INTO '" + victim + "'").ok());
  EXPECT_FALSE(index.run("SELECT load_extension('" + victim + "')").ok());
  EXPECT_FALSE(std::filesystem::exists(victim));
}

TEST(Database, IgnoresTriggersAndViews) {
  const Folder folder("trigger");
  Database index = created(folder);
  ASSERT_TRUE(index
                  .run_all("CREATE TABLE t(x); CREATE TABLE u(x); CREATE VIEW v AS SELECT 1 AS x;"
                           "CREATE TABLE w(x);")
                  .ok());
  ASSERT_TRUE(index.run("CREATE TRIGGER r AFTER INSERT ON t BEGIN INSERT INTO u VALUES(1); END").ok());
  ASSERT_TRUE(index.run("INSERT INTO t VALUES(1)").ok());
  std::int64_t rows = -1;
  ASSERT_TRUE(index
                  .each("SELECT count(*) FROM u", {},
                        [&](const SqlRow& row) -> Result<void> { return rows = row.integer(0), Result<void>(); })
                  .ok());

  EXPECT_EQ(rows, 0);
  EXPECT_FALSE(index.run("SELECT * FROM v").ok());
  EXPECT_FALSE(index.run("UPDATE sqlite_schema SET sql = ''").ok());
}

TEST(Database, ChangesNothingWhenOpenedToRead) {
  const Folder folder("query_only");
  {
    Database index = created(folder);
    ASSERT_TRUE(index.prepare_changes().ok());
    ASSERT_TRUE(index.run("CREATE TABLE t(x)").ok());
  }
  auto index = Database::open(folder.path() + "/index.sqlite", Access::kRead);
  ASSERT_TRUE(index.ok()) << index.error().text();

  EXPECT_FALSE(index->run("INSERT INTO t VALUES(1)").ok());
  EXPECT_FALSE(index->run("DROP TABLE t").ok());
}

}  // namespace
}  // namespace lanista::zoo
