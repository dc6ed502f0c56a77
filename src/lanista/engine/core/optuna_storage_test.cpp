// Journals and SQLite files of Optuna: several studies, infinite and missing values, files that are none.
#include "lanista/engine/core/optuna_storage.h"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>

#include "lanista/base/check.h"

namespace lanista::engine {
namespace {

const std::vector<study::Goal> kGoals{{true, "val_accuracy"}};

template <class T>
T value_of(Result<T> result) {
  LANISTA_CHECK(result.ok(), result ? "" : result.error().text());
  return *std::move(result);
}

std::string trial_lines(int study, int trial, const std::string& value) {
  const std::string of_trial = R"("trial_id":)" + std::to_string(trial);
  return R"({"op_code":4,"study_id":)" + std::to_string(study) + "}\n" + R"({"op_code":5,)" + of_trial +
         R"(,"param_name":"lr","param_value_internal":0.5,)" +
         R"("distribution":"{\"name\": \"FloatDistribution\", \"attributes\": {\"high\": Infinity}}"})" + "\n" +
         R"({"op_code":7,)" + of_trial + R"(,"step":1,"intermediate_value":NaN})" + "\n" + R"({"op_code":6,)" +
         of_trial + R"(,"state":1,"values":[)" + value + "]}\n";
}
std::string study_line(const std::string& name) {
  return R"({"op_code":0,"study_name":")" + name + R"(","directions":[2]})" + "\n";
}

TEST(OptunaJournal, ReadsInfiniteAndMissingValues) {
  const auto trials = value_of(read_optuna_trials(study_line("a \\\" NaN") + trial_lines(0, 0, "Infinity") +
                                                      trial_lines(0, 1, "-Infinity") + trial_lines(0, 2, "NaN") +
                                                      trial_lines(0, 3, "0.5"),
                                                  kGoals));
  ASSERT_EQ(trials.size(), 4U);
  EXPECT_EQ(trials[0].metrics.at("val_accuracy"), INFINITY);
  EXPECT_EQ(trials[1].metrics.at("val_accuracy"), -INFINITY);
  EXPECT_TRUE(std::isnan(trials[2].metrics.at("val_accuracy")));
  EXPECT_EQ(trials[3].metrics.at("val_accuracy"), 0.5);
  EXPECT_EQ(trials[3].params, (nlohmann::json{{"lr", 0.5}}));
}

TEST(OptunaJournal, LeavesOutAnUnfinishedLastLine) {
  const std::string whole = study_line("a") + trial_lines(0, 0, "0.5"), cut = R"({"op_code":4,"stu)";
  for (const std::string& end : {cut, cut + "\n"}) {
    EXPECT_EQ(value_of(read_optuna_trials(whole + end, kGoals)).size(), 1U);
  }
  EXPECT_FALSE(read_optuna_trials(study_line("a") + cut + "\n" + trial_lines(0, 0, "0.5"), kGoals).ok());
}

TEST(OptunaJournal, NamesOneOfSeveralStudies) {
  const std::string journal = study_line("first") + study_line("second") + trial_lines(0, 0, "0.25") +
                              trial_lines(1, 1, "0.5") + trial_lines(0, 2, "0.75");
  const auto unnamed = read_optuna_trials(journal, kGoals);
  ASSERT_FALSE(unnamed.ok());
  EXPECT_EQ(unnamed.error().message, "it has 2 studies: first, second; name one with --study NAME");
  const auto first = value_of(read_optuna_trials(journal, kGoals, "first"));
  ASSERT_EQ(first.size(), 2U);
  EXPECT_EQ(first[1].metrics.at("val_accuracy"), 0.75);
  EXPECT_EQ(first[1].row, "trial 1") << "numbers are those of the study";
  EXPECT_EQ(value_of(read_optuna_trials(journal, kGoals, "second")).size(), 1U);
  const auto unknown = read_optuna_trials(journal, kGoals, "secnd");
  ASSERT_FALSE(unknown.ok());
  EXPECT_NE(unknown.error().message.find("did you mean 'second'?"), std::string::npos) << unknown.error().message;
  // A deleted study is none of them.
  EXPECT_EQ(value_of(read_optuna_trials(journal + R"({"op_code":1,"study_id":1})" + "\n", kGoals)).size(), 2U);
}

class OptunaStorage : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = std::filesystem::temp_directory_path() / ("lanista-optuna-" + std::to_string(::getpid()) + ".db");
    std::filesystem::remove(path_);
  }
  void TearDown() override { std::filesystem::remove(path_); }
  void run(const std::string& sql) {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(path_.c_str(), &db), SQLITE_OK);
    char* error = nullptr;
    const int done = sqlite3_exec(db, sql.c_str(), nullptr, nullptr, &error);
    const std::string text = error == nullptr ? "" : error;
    sqlite3_free(error);
    sqlite3_close(db);
    ASSERT_EQ(done, SQLITE_OK) << text;
  }
  void make(int version = 12) {
    run("CREATE TABLE version_info (version_info_id INTEGER, schema_version INTEGER, library_version VARCHAR);"
        "CREATE TABLE studies (study_id INTEGER, study_name VARCHAR);"
        "CREATE TABLE study_directions (study_id INTEGER, direction VARCHAR, objective INTEGER);"
        "CREATE TABLE trials (trial_id INTEGER, number INTEGER, study_id INTEGER, state VARCHAR);"
        "CREATE TABLE trial_params (trial_id INTEGER, param_name VARCHAR, param_value FLOAT, distribution_json TEXT);"
        "CREATE TABLE trial_values (trial_id INTEGER, objective INTEGER, value FLOAT, value_type VARCHAR);"
        "CREATE TABLE trial_intermediate_values (trial_id INTEGER, step INTEGER, intermediate_value FLOAT, "
        "intermediate_value_type VARCHAR);"
        "INSERT INTO version_info VALUES (1, " +
        std::to_string(version) +
        ", '5.0.0');"
        "INSERT INTO studies VALUES (1, 'first'), (4, 'second');"
        "INSERT INTO study_directions VALUES (1, 'MAXIMIZE', 0), (4, 'MINIMIZE', 0);"
        "INSERT INTO trials VALUES (7, 0, 1, 'COMPLETE'), (8, 0, 4, 'COMPLETE'), (9, 1, 1, 'PRUNED'), "
        "(10, 2, 1, 'FAIL'), (11, 3, 1, 'COMPLETE');"
        "INSERT INTO trial_params VALUES (7, 'lr', 0.25, '{\"name\": \"FloatDistribution\", \"attributes\": {}}'), "
        "(7, 'optimizer', 1.0, '{\"name\": \"CategoricalDistribution\", \"attributes\": {\"choices\": "
        "[\"sgd\", \"adam\"]}}');"
        "INSERT INTO trial_values VALUES (7, 0, 0.5, 'FINITE'), (8, 0, 0.1, 'FINITE'), (11, 0, NULL, 'INF_NEG');"
        "INSERT INTO trial_intermediate_values VALUES (9, 1, 0.5, 'FINITE'), (9, 2, NULL, 'NAN');");
  }
  std::filesystem::path path_;
};

TEST_F(OptunaStorage, ReadsOneStudy) {
  make();
  const auto before = std::filesystem::last_write_time(path_);
  const auto trials = value_of(read_optuna_database(path_, kGoals, "first"));
  ASSERT_EQ(trials.size(), 3U);
  EXPECT_EQ(trials[0].params, (nlohmann::json{{"lr", 0.25}, {"optimizer", "adam"}}));
  EXPECT_EQ(trials[0].metrics.at("val_accuracy"), 0.5);
  EXPECT_TRUE(std::isnan(trials[1].metrics.at("val_accuracy")));
  EXPECT_EQ(trials[1].epoch, 2);
  EXPECT_EQ(trials[2].metrics.at("val_accuracy"), -INFINITY);
  EXPECT_EQ(trials[2].row, "trial 3");
  EXPECT_EQ(std::filesystem::last_write_time(path_), before);
  EXPECT_EQ(read_optuna_database(path_, kGoals).error().message,
            "it has 2 studies: first, second; name one with --study NAME");
  EXPECT_NE(read_optuna_database(path_, kGoals, "second").error().message.find("minimised"), std::string::npos);
}

TEST_F(OptunaStorage, TakesNoTextForANumber) {
  make();
  run("UPDATE trial_values SET value = 'x' WHERE trial_id = 7;"
      "UPDATE trial_params SET param_value = 'y' WHERE param_name = 'lr';"
      "UPDATE trial_params SET param_value = 0.5 WHERE param_name = 'optimizer'");
  const auto trials = value_of(read_optuna_database(path_, kGoals, "first"));
  ASSERT_EQ(trials.size(), 3U);
  EXPECT_TRUE(std::isnan(trials[0].metrics.at("val_accuracy")));
  EXPECT_EQ(trials[0].params, (nlohmann::json{{"lr", "y"}, {"optimizer", 0.5}})) << "no choice has the index 0.5";
}

TEST_F(OptunaStorage, RefusesOtherDatabases) {
  run("CREATE TABLE zoo (a INTEGER); INSERT INTO zoo VALUES (1)");
  EXPECT_NE(read_optuna_database(path_, kGoals).error().message.find("no Optuna storage"), std::string::npos);
  std::filesystem::remove(path_);
  make(11);
  EXPECT_NE(read_optuna_database(path_, kGoals).error().message.find("version 11, allowed is 12"), std::string::npos);
  std::filesystem::remove(path_);
  make();
  run("INSERT INTO trial_params VALUES (99, 'lr', 1, '{}')");
  EXPECT_NE(read_optuna_database(path_, kGoals, "first").error().message.find("a row of it is invalid"),
            std::string::npos);
  // Tables that are views of other things are not read.
  std::filesystem::remove(path_);
  make();
  run("DROP TABLE studies; CREATE VIEW studies AS SELECT 1 AS study_id, 'first' AS study_name");
  EXPECT_FALSE(read_optuna_database(path_, kGoals, "first").ok());
}

TEST_F(OptunaStorage, RefusesChangesThatAreInAJournal) {
  make();
  const std::string journal = path_.string() + "-journal";
  std::ofstream(journal) << "x";
  EXPECT_NE(read_optuna_database(path_, kGoals, "first").error().message.find("-journal"), std::string::npos);
  std::filesystem::remove(journal);
}

TEST_F(OptunaStorage, SurvivesDamagedFiles) {
  make();
  const auto size = std::filesystem::file_size(path_);
  for (std::uintmax_t at = 0; at < size; at += 97) {
    std::string bytes;
    {
      std::ifstream in(path_, std::ios::binary);
      bytes.assign(std::istreambuf_iterator<char>(in), {});
    }
    const char old = bytes[at];
    bytes[at] = static_cast<char>(old ^ 0x55);
    std::ofstream(path_, std::ios::binary) << bytes;
    static_cast<void>(read_optuna_database(path_, kGoals, "first"));  // an error or trials, and no crash
    bytes[at] = old;
    std::ofstream(path_, std::ios::binary) << bytes;
  }
  EXPECT_TRUE(read_optuna_database(path_, kGoals, "first").ok());
}

}  // namespace
}  // namespace lanista::engine
