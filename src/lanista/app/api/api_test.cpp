#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "lanista/lanista.h"

namespace lanista {
namespace {

namespace fs = std::filesystem;

/// A new folder that is removed at the end of the test.
class PublicApi : public ::testing::Test {
 protected:
  PublicApi() : root_(fs::temp_directory_path() / ("lanista_api_" + std::to_string(getpid()))) {
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  ~PublicApi() override { fs::remove_all(root_); }

  std::string path(const std::string& name) const { return (root_ / name).string(); }

  /// A study of two trials with two epochs of a small model.
  static Study small_study() {
    Study study;
    study.set("budget.trials", "2").set("train.epochs", "2").set("model.base", "[\"builtin:small-mlp\"]");
    study.set("run.workers", "1").set("run.profiles", "off");
    return study;
  }

 private:
  fs::path root_;
};

Tensor two_digits() {
  Tensor samples{"samples", ElementType::kF32, {2, 1, 8, 8}, std::vector<std::byte>(2 * 64 * sizeof(float))};
  const auto numbers = elements_of<float>(samples);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>((i * 7) % 17);
  return samples;
}

TEST(CsvText, IsReadBackUnchanged) {
  const Table table{{"name", "a,b"}, {{"\"x\"", ""}, {"=1", "two\nlines"}}};
  const auto text = csv_text(table);
  ASSERT_TRUE(text) << text.error().text();
  const auto again = parse_csv_table(*text);
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(again->columns, table.columns);
  EXPECT_EQ(again->rows, table.rows);
}

TEST(CsvText, RefusesRowsOfAnotherLength) {
  const auto text = csv_text({{"a", "b"}, {{"1", "2"}, {"3"}}});
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().text(), "row 1 has 1 cells; the table has 2 columns");
  EXPECT_FALSE(csv_text({}));
}

TEST(Version, OfLibraryAndHeadersAreEqual) { EXPECT_EQ(version(), kHeaderVersion); }

TEST(Reference, NamesEveryTable) {
  for (const auto& entries :
       {data_sources(), operators(), optimizers(), losses(), metrics(), strategies(), stopping_rules(), mutators()}) {
    ASSERT_FALSE(entries.empty());
    EXPECT_FALSE(entries.front().help.empty()) << entries.front().name;
  }
  EXPECT_EQ(study_file_schema().front(), '{');
}

TEST(DescribeData, GivesShapeClassesAndParts) {
  const auto digits = describe_data("builtin:digits");
  ASSERT_TRUE(digits) << digits.error().text();
  EXPECT_EQ(digits->num_rows, 1797);
  EXPECT_EQ(digits->num_test_rows, 270);
  EXPECT_EQ(digits->class_names.size(), 10u);
  EXPECT_EQ(describe_data("csv:absent.csv").error().code, Code::kNotFound);
}

TEST_F(PublicApi, ReportsMistakesWithoutWriting) {
  Study study = small_study();
  study.set("train.epoch", "3");
  const auto checked = study.check();
  ASSERT_FALSE(checked);
  EXPECT_NE(checked.error().message.find("epochs"), std::string::npos) << checked.error().message;
  EXPECT_FALSE(run(study, path("study")));
  EXPECT_FALSE(fs::exists(path("study")));

  const auto workers = run(small_study(), path("study"), {.workers = 65, .lanes = {}, .devices = {}});
  ASSERT_FALSE(workers);
  EXPECT_EQ(workers.error().text(), "RunOptions::workers: is 65; allowed: 1 to 64");
}

TEST_F(PublicApi, RefusesWorkerProcesses) {
  const auto refused = run(small_study().set("run.isolation", "process"), path("study"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnimplemented) << refused.error().text();
  EXPECT_FALSE(fs::exists(path("study")));
}

TEST_F(PublicApi, ResolvedTextGivesTheSameStudy) {
  const auto text = small_study().resolved_text();
  ASSERT_TRUE(text) << text.error().text();
  const auto again = Study::from_text(*text).resolved_text();
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(*again, *text);
  std::ofstream(path("study.yaml")) << *text;
  const auto loaded = Study::load(path("study.yaml"));
  ASSERT_TRUE(loaded) << loaded.error().text();
  EXPECT_EQ(loaded->text(), *text);
  EXPECT_EQ(Study::load(path("absent.yaml")).error().code, Code::kNotFound);
}

TEST_F(PublicApi, RunsReadsAndPredicts) {
  std::size_t measured = 0, ended = 0;
  std::map<std::int64_t, std::int64_t> last_epoch;
  RunOptions options;
  options.observer = [&](const ProgressEvent& event) {
    measured += event.kind == ProgressEvent::Kind::kMeasured ? 1 : 0;
    ended += event.kind == ProgressEvent::Kind::kTrialEnded ? 1 : 0;
    if (event.kind == ProgressEvent::Kind::kMeasured) last_epoch[event.trial] = event.epoch;
    if (event.kind == ProgressEvent::Kind::kTrialEnded) {
      EXPECT_EQ(event.epoch, last_epoch.at(event.trial));
      EXPECT_EQ(run(small_study(), path("second")).error().code, Code::kFailedPrecondition);
    }
  };
  const auto summary = run(small_study(), path("study"), options);
  ASSERT_TRUE(summary) << summary.error().text();
  EXPECT_EQ(summary->end, RunEnd::kDone);
  EXPECT_EQ(ended, 2u);
  EXPECT_FALSE(fs::exists(path("second")));
  EXPECT_EQ(run(small_study(), path("study")).error().code, Code::kAlreadyExists);

  const auto result = read_study(path("study"));
  ASSERT_TRUE(result) << result.error().text();
  ASSERT_EQ(result->trials.size(), 2u);
  std::size_t stored = 0;
  for (const Trial& trial : result->trials) stored += trial.measurements.size();
  EXPECT_EQ(measured, stored);
  ASSERT_TRUE(result->winner);
  EXPECT_EQ(result->ranking.front(), *result->winner);
  EXPECT_EQ(result->goals.front().metric, "val_accuracy");
  EXPECT_FALSE(result->test.empty());
  EXPECT_TRUE(fs::exists(path("study/report.html")));
  EXPECT_TRUE(read_trial_model(path("study"), 1));
  EXPECT_EQ(read_trial_model(path("study"), 3).error().code, Code::kNotFound);
  EXPECT_TRUE(export_study(path("study"), StudyTable::kTrialsCsv)->starts_with("trial"));
  EXPECT_EQ(request_pause(path("study")).error().code, Code::kFailedPrecondition);

  const auto model = Model::load(path("study/best"));
  ASSERT_TRUE(model) << model.error().text();
  EXPECT_EQ(model->feature_shape(), (std::vector<std::int64_t>{1, 8, 8}));
  EXPECT_FALSE(model->metrics().empty());
  const auto predicted = model->predict(two_digits());
  ASSERT_TRUE(predicted) << predicted.error().text();
  EXPECT_EQ(predicted->num_rows, 2);
  EXPECT_EQ(predicted->values.size(), 20u);
  EXPECT_EQ(predicted->classes.size(), 2u);

  // The same numbers as rows of a table.
  Table rows;
  const Tensor samples = two_digits();
  const auto numbers = elements_of<float>(samples);
  for (int c = 0; c < 64; ++c) rows.columns.push_back("f" + std::to_string(c));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (i % 64 == 0) rows.rows.emplace_back();
    rows.rows.back().push_back(std::to_string(static_cast<int>(numbers[i])));
  }
  const auto of_table = model->predict(rows);
  ASSERT_TRUE(of_table) << of_table.error().text();
  EXPECT_EQ(of_table->values, predicted->values);
}

TEST_F(PublicApi, PredictsRowsOfATable) {
  std::ofstream file(path("points.csv"));
  file << "size;colour;kind\n";
  for (int i = 0; i < 90; ++i) {
    file << (i % 3) + 0.25 << ';' << (i % 3 == 2 ? "red" : "blue") << ';' << (i % 3 == 0 ? "small" : "large") << "\n";
  }
  file.close();
  Study study = Study::from_text(
      "data: {source: \"csv:points.csv?target=kind&sep=;\"}\n"
      "model: {base: builtin:small-mlp}\n"
      "train: {epochs: 2}\n"
      "budget: {trials: 1}\n"
      "run: {workers: 1, profiles: off}\n",
      path(""));
  const auto summary = run(study, path("study"));
  ASSERT_TRUE(summary) << summary.error().text();
  const auto model = Model::load(path("study"));
  ASSERT_TRUE(model) << model.error().text();
  EXPECT_EQ(model->class_names(), (std::vector<std::string>{"large", "small"}));

  const auto predicted = model->predict(Table{{"colour", "note", "size"}, {{"red", "a,b", "2.25"}, {"blue", "", ""}}});
  ASSERT_TRUE(predicted) << predicted.error().text();
  EXPECT_EQ(predicted->columns, (std::vector<std::string>{"p_large", "p_small"}));
  ASSERT_EQ(predicted->values.size(), 4u);
  EXPECT_NEAR(predicted->values[0] + predicted->values[1], 1, 1e-12);
  // The same rows from a file in the notation of the training data.
  std::ofstream(path("new.csv")) << "size;colour\n2.25;red\n;blue\n";
  EXPECT_EQ(model->predict_source(path("new.csv"))->values, predicted->values);
  EXPECT_EQ(model->predict(Table{{"size"}, {{"1"}}}).error().code, Code::kDataLoss);
  EXPECT_EQ(model->evaluate_source(path("new.csv")).error().code, Code::kInvalidArgument) << "it has no targets";
  // One right target, one wrong target, and one row without a target, which does not count.
  const std::string right = predicted->classes[0], wrong = predicted->classes[1] == "large" ? "small" : "large";
  std::ofstream(path("rated.csv")) << "size;colour;kind\n2.25;red;" << right << "\n;blue;" << wrong << "\n1.25;red;\n";
  const auto rated = model->evaluate_source(path("rated.csv"));
  ASSERT_TRUE(rated) << rated.error().text();
  EXPECT_DOUBLE_EQ(rated->at("accuracy"), 0.5);
  EXPECT_EQ(model->predict(two_digits()).error().code, Code::kInvalidArgument);
}

TEST_F(PublicApi, StopRequestPausesAndResumeGivesEqualTrials) {
  ASSERT_TRUE(run(small_study(), path("whole")));
  std::stop_source stop;
  RunOptions options;
  options.stop = stop.get_token();
  options.observer = [&](const ProgressEvent& event) {
    if (event.kind == ProgressEvent::Kind::kMeasured) stop.request_stop();
  };
  const auto paused = run(small_study(), path("parts"), options);
  ASSERT_TRUE(paused) << paused.error().text();
  ASSERT_EQ(paused->end, RunEnd::kPaused);
  EXPECT_EQ(paused->reason, "stop request");
  EXPECT_FALSE(read_study(path("parts"))->end_reason);
  const auto resumed = resume(path("parts"));
  ASSERT_TRUE(resumed) << resumed.error().text();
  EXPECT_EQ(resumed->end, RunEnd::kDone);
  const auto expected = read_study(path("whole")), actual = read_study(path("parts"));
  EXPECT_EQ(actual->ranking, expected->ranking);
  EXPECT_EQ(actual->test, expected->test);
  EXPECT_EQ(resume(path("absent")).error().code, Code::kNotFound);
}

}  // namespace
}  // namespace lanista
