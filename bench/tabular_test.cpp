#include "bench/tabular.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "bench/table_search.h"
#include "lanista/base/rng.h"

namespace lanista::bench {
namespace {

const char* const kOperations[] = {"none", "skip", "conv1", "conv3"};

/// All cells of three edges. Each edge has other best operations, so that a search can learn.
std::string small_table() {
  std::string csv = "cell,toy-val,toy-test\n";
  for (int a = 0; a < 4; ++a) {
    for (int b = 0; b < 4; ++b) {
      for (int c = 0; c < 4; ++c) {
        const int worth = 3 * a + 2 * ((b + 1) % 4) + ((c + 2) % 4);
        csv += std::string("|") + kOperations[a] + "~0|+|" + kOperations[b] + "~0|" + kOperations[c] + "~1|," +
               std::to_string(50 + worth) + "," + std::to_string(40.5 + worth) + "\n";
      }
    }
  }
  return csv;
}

search::StrategyPlugin plugin_named(const std::string& name) {
  for (const auto& plugin : search::builtin_strategies()) {
    if (plugin.name == name) return plugin;
  }
  return {};
}

SearchRun search(const AccuracyTable& table, const std::string& name, const std::vector<std::int64_t>& marks,
                 std::uint64_t seed) {
  const auto plugin = plugin_named(name);
  auto run = search_table(table, plugin, *resolve_options(Options::object(), plugin.options), marks, seed);
  LANISTA_CHECK(run.ok(), "the search of the table succeeds");
  return *std::move(run);
}

TEST(AccuracyTable, FindsEachCell) {
  const auto table = AccuracyTable::read(small_table(), "toy");

  ASSERT_TRUE(table.ok()) << table.error().text();
  EXPECT_EQ(table->rows(), 64U);
  EXPECT_EQ(table->edges(), 3U);
  EXPECT_EQ(table->operations(), 4U);
  EXPECT_EQ(table->best_validation(), 50 + 9 + 6 + 3);
  const auto value = [](const char* text) { return space::Value(std::string(text)); };
  const auto* row = table->find({{"edge0", value("conv1")}, {"edge1", value("none")}, {"edge2", value("conv3")}});
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(row->validation, 50 + 6 + 2 + 1);
  EXPECT_EQ(row->test, 40.5 + 6 + 2 + 1);
  EXPECT_EQ(table->find({{"edge0", value("conv1")}}), nullptr);
  EXPECT_EQ(table->find({{"edge0", value("pool")}, {"edge1", value("none")}, {"edge2", value("none")}}), nullptr);
}

TEST(AccuracyTable, ReportsErrorsOfFile) {
  const auto message = [](const std::string& csv, const std::string& name = "toy") {
    const auto table = AccuracyTable::read(csv, name);
    return table ? std::string("no error") : std::string(code_name(table.error().code)) + " " + table.error().text();
  };
  const std::string head = "cell,toy-val,toy-test\n";
  EXPECT_EQ(message(head), "data_loss the table has no rows");
  EXPECT_EQ(message(head + "|a~0|,1,2\n", "cifar10"),
            "not_found the table has no column 'cifar10-val'; its columns are cell, toy-val, toy-test");
  EXPECT_EQ(message(head + "|a~0|,1,2\n|a~1|,1,2\n"),
            "data_loss line 3: '|a~1|' is not a cell; expected like |op~0|+|op~0|op~1|");
  EXPECT_EQ(message(head + "|a~0|+,1,2\n"),
            "data_loss line 2: '|a~0|+' is not a cell; expected like |op~0|+|op~0|op~1|");
  EXPECT_EQ(message(head + "|a~0|,1,2\n|a~0|+|a~0|a~1|,1,2\n"),
            "data_loss line 3: the cell has 3 edges, the cells before have 1");
  EXPECT_EQ(message(head + "|a~0|,1,2\n|a~0|,1,2\n"), "data_loss line 3: the cell is repeated");
  EXPECT_EQ(message(head + "|a~0|,1,nan\n"), "data_loss line 2: 'nan' is not a percentage from 0 to 100");
  EXPECT_EQ(message(head + "|a~0|,101,2\n"), "data_loss line 2: '101' is not a percentage from 0 to 100");
}

TEST(AccuracyTable, HandlesAnyBytes) {
  Rng rng(3);
  const std::string good = small_table();
  for (int i = 0; i < 300; ++i) {
    std::string bytes = good;
    for (int k = 0; k < 3; ++k) bytes[rng.below(bytes.size())] = static_cast<char>(rng.below(256));
    const auto table = AccuracyTable::read(bytes, "toy");
    EXPECT_TRUE(!table || table->best_validation() <= 100);
  }
}

TEST(SearchTable, ReachesZeroRegretAndNeverGetsWorse) {
  const auto table = *AccuracyTable::read(small_table(), "toy");
  for (const std::string name : {"random", "grid", "evolution", "tpe", "local_search", "policy_gradient", "nsga2"}) {
    const SearchRun run = search(table, name, {1, 8, 64}, 5);
    ASSERT_EQ(run.after.size(), 3U);
    EXPECT_GE(run.after[0].validation_regret, run.after[1].validation_regret) << name;
    EXPECT_LE(run.queries, 64) << name;
    EXPECT_LE(run.after[2].validation_regret, 2) << name;
  }
  EXPECT_EQ(search(table, "grid", {64}, 5).after[0].validation_regret, 0);
  EXPECT_EQ(search(table, "grid", {64}, 5).after[0].test_regret, 0);
}

TEST(SearchTable, LearnsMoreThanRandomSearchFromTheSameQueries) {
  const auto table = *AccuracyTable::read(small_table(), "toy");
  const auto mean = [&](const std::string& name) {
    double sum = 0;
    for (std::uint64_t seed = 0; seed < 40; ++seed) sum += search(table, name, {20}, seed).after[0].validation_regret;
    return sum / 40;
  };
  const double random = mean("random");
  EXPECT_LT(mean("tpe"), 0.8 * random);
  EXPECT_LT(mean("local_search"), 0.6 * random);
}

TEST(SearchTable, CountsMissingCellAsFailedTrial) {
  const auto table =
      AccuracyTable::read("cell,toy-val,toy-test\n|a~0|+|a~0|b~1|,10,20\n|b~0|+|a~0|a~1|,30,10\n", "toy");
  ASSERT_TRUE(table.ok());
  const SearchRun run = search(*table, "grid", {8}, 1);
  EXPECT_EQ(run.queries, 8);
  EXPECT_EQ(run.after[0].validation_regret, 0);
  EXPECT_EQ(run.after[0].test_regret, 10);  // the best cell by validation is not the best by test
}

class TabularFile : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = (std::filesystem::temp_directory_path() / ("lanista_tabular_" + std::to_string(::getpid()))).string();
    std::ofstream(path_) << small_table();
  }
  void TearDown() override { std::filesystem::remove(path_); }
  std::string path_;
};

TEST_F(TabularFile, PrintsRowForEachStrategyAndMilestone) {
  std::ostringstream out;
  BenchRequest request;
  request.json = true;
  request.file = path_;
  request.column = "toy";
  request.seeds = 2;
  request.queries = 30;

  ASSERT_TRUE(tabular(request, out).ok());

  std::istringstream lines(out.str());
  int rows = 0, random = 0;
  for (std::string line; std::getline(lines, line); ++rows) {
    const auto row = nlohmann::json::parse(line);
    EXPECT_EQ(row.at("bench"), "tabular");
    EXPECT_GE(row.at("value").get<double>(), 0);
    random += row.at("arm") == "random" ? 1 : 0;
  }
  EXPECT_EQ(random, 3);  // validation and test after 30 queries, and the cost
  EXPECT_EQ(rows, 3 * 7);
}

TEST(Tabular, RequiresFile) {
  std::ostringstream out;
  const auto done = tabular(BenchRequest(), out);
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().code, Code::kInvalidArgument);
  EXPECT_EQ(done.error().message, "tabular needs a table: --file accuracy.csv (cell, NAME-val, NAME-test)");
}

}  // namespace
}  // namespace lanista::bench
