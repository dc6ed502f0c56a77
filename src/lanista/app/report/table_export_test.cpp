#include "lanista/app/report/table_export.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "lanista/app/report/facts.h"
#include "lanista/base/csv.h"
#include "support/app/report/test_view.h"

namespace lanista::report {
namespace {

using testing::random_study;
using testing::small_study;

/// The cells of a CSV text by the name of their column.
struct Table {
  std::vector<std::string> header;
  std::vector<std::map<std::string, std::string>> rows;
};

Table table(const std::string& text) {
  const auto parsed = formats::parse_csv(text, {.separator = ',', .header = true});
  EXPECT_TRUE(parsed.ok()) << (parsed ? "" : parsed.error().text());
  Table out;
  if (!parsed) return out;
  out.header = parsed->header();
  for (std::size_t row = 0; row < parsed->rows(); ++row) {
    out.rows.emplace_back();
    for (std::size_t c = 0; c < out.header.size(); ++c) out.rows.back()[out.header[c]] = parsed->cell(row, c);
  }
  return out;
}

std::vector<nlohmann::json> lines(const std::string& text) {
  std::vector<nlohmann::json> out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    out.push_back(nlohmann::json::parse(text.substr(at, end - at)));
    at = end + 1;
  }
  return out;
}

TEST(TrialsCsv, HasOneRowPerTrial) {
  study::StudyView view = small_study();
  view.trials.resize(2);
  for (auto& trial : view.trials) trial.proposal.graph_hash = Digest{1, 2};

  EXPECT_EQ(
      trials_csv(view),
      "trial,state,reason,rank,parent,same_as,base,edits,graph_hash,epochs,steps,kept_epoch,parameters,"
      "seconds,"
      "metrics.train_loss,metrics.val_accuracy,params.optimizer,params.lr,params.momentum,params.warmup_epochs,"
      "params.nesterov\r\n"
      "1,succeeded,,2,,,small-mlp,0,00000000000000010000000000000002,2,20,2,100,1,0.25,0.75,sgd,0.25,0.5,2,true\r\n"
      "2,stopped,asha: rung 1,1,,,\"'=small,cnn\",0,00000000000000010000000000000002,1,10,1,200,0.5,0.125,0.875,"
      "adam,0.001,,0,false\r\n");
}

TEST(Tables, MarkRefinementTrials) {
  study::StudyView view = small_study();
  view.config.strategy.then.emplace();
  view.trials[1].proposal.parent = TrialId{1};
  view.trials[1].proposal.is_refinement = true;
  const Table read = table(trials_csv(view));
  EXPECT_EQ(read.rows[0].at("tunes"), "0");
  EXPECT_EQ(read.rows[1].at("tunes"), "1");
  const auto result = lines(trials_jsonl(view));
  EXPECT_FALSE(result[0]["lineage"].contains("tunes"));
  EXPECT_EQ(result[1]["lineage"]["tunes"], true);
}

TEST(TrialsCsv, EscapesFormulasAndKeepsNumbers) {
  study::StudyView view = small_study();
  const auto read = table(trials_csv(view));
  EXPECT_EQ(read.rows[2].at("reason"), "'-1\", \"diverged\"\n");
  EXPECT_EQ(read.rows[2].at("metrics.val_accuracy"), "nan");

  for (const std::string text : {"=1", "+A1", "-1+2", "@A1", "\t=1", "\r=1"}) {
    view.trials[0].outcome->reason = text;
    EXPECT_EQ(table(trials_csv(view)).rows[0].at("reason"), "'" + text);
  }
  view.trials[0].outcome->reason = "-1";
  EXPECT_EQ(table(trials_csv(view)).rows[0].at("reason"), "-1") << "a number is no formula";
  for (auto& measurement : view.trials[0].measurements) measurement.metrics["val_accuracy"] = -2.5;
  EXPECT_EQ(table(trials_csv(view)).rows[0].at("metrics.val_accuracy"), "-2.5");
}

TEST(Tables, ContainMetricsOfSelectedEpoch) {
  study::StudyView view = small_study();
  view.trials[0].measurements.push_back({TrialId{1}, 3, 30, {{"train_loss", 0.125}, {"val_accuracy", 0.625}}});

  const auto best = table(trials_csv(view)).rows[0];
  EXPECT_EQ(best.at("epochs"), "3");
  EXPECT_EQ(best.at("steps"), "30");
  EXPECT_EQ(best.at("kept_epoch"), "2");
  EXPECT_EQ(best.at("metrics.val_accuracy"), "0.75");
  EXPECT_EQ(best.at("metrics.train_loss"), "0.25");
  EXPECT_EQ(lines(trials_jsonl(view))[0].at("kept_epoch"), 2);
  EXPECT_EQ(table(trials_csv(view)).rows[3].at("kept_epoch"), "0") << "a duplicate did not train";

  view.config.train.measured.keep = study::kKeepLast;
  const auto last = table(trials_csv(view)).rows[0];
  EXPECT_EQ(last.at("kept_epoch"), "3");
  EXPECT_EQ(last.at("metrics.val_accuracy"), "0.625");
}

TEST(TrialsCsv, ContainsEachTrialOfRandomStudy) {
  const study::StudyView view = random_study(300, 1);
  const auto read = table(trials_csv(view));

  EXPECT_EQ(std::set<std::string>(read.header.begin(), read.header.end()).size(), read.header.size());
  ASSERT_EQ(read.rows.size(), view.trials.size());
  for (std::size_t i = 0; i < view.trials.size(); ++i) {
    EXPECT_EQ(read.rows[i].at("trial"), std::to_string(i + 1));
    EXPECT_EQ(read.rows[i].at("state"), state_name(view.trials[i]));
    for (const auto& [name, value] : view.trials[i].proposal.sample) {
      EXPECT_EQ(read.rows[i].at("params." + name), space::value_text(value));
    }
  }
}

TEST(MeasurementsCsv, HasOneRowPerMeasurement) {
  study::StudyView view = small_study();
  view.spans.erase(view.spans.begin());
  EXPECT_EQ(measurements_csv(view),
            "trial,epoch,step,seconds,metrics.train_loss,metrics.val_accuracy\r\n"
            "1,1,10,,0.5,0.5\r\n"
            "1,2,20,1,0.25,0.75\r\n"
            "2,1,10,0.5,0.125,0.875\r\n"
            "3,1,10,1,nan,nan\r\n"
            "5,1,10,1.5,0.375,0.625\r\n");
}

TEST(TrialsJsonl, ContainsMeasurementsAndLineage) {
  study::StudyView view = small_study();
  view.trials[4].proposal.steps = {{"widen", {}}};
  view.trials[4].proposal.edits = {graph::SetAttr{graph::NodeId{1}, "out", std::int64_t{128}}};

  const auto read = lines(trials_jsonl(view));

  ASSERT_EQ(read.size(), 5U);
  for (const auto& line : read) EXPECT_EQ(line.at("v"), 1);
  EXPECT_EQ(read[0].at("measurements").size(), 2U);
  EXPECT_EQ(read[0].at("measurements")[1].dump(),
            R"({"epoch":2,"metrics":{"train_loss":0.25,"val_accuracy":0.75},"step":20})");
  EXPECT_EQ(read[2].at("measurements")[0].at("metrics").at("val_accuracy"), "nan");
  EXPECT_EQ(read[2].at("state"), "failed");
  EXPECT_EQ(read[3].at("same_as"), 1);
  EXPECT_EQ(read[4].at("lineage").at("parent"), 1);
  EXPECT_EQ(read[4].at("lineage").at("mutations"), nlohmann::json::array({"widen"}));
  EXPECT_EQ(read[4].at("lineage").at("edits").size(), 1U);
  EXPECT_FALSE(read[4].contains("rank"));
  EXPECT_EQ(read[4].at("sample").at("lr"), 0.25);
}

TEST(TrialsJsonl, ReplacesInvalidUtf8) {
  study::StudyView view = small_study();
  view.trials[0].outcome->reason = "\xff\n";
  EXPECT_EQ(lines(trials_jsonl(view))[0].at("reason"), "\xef\xbf\xbd\n");
}

TEST(Tables, OfEmptyStudyAreHeadersOnly) {
  EXPECT_TRUE(table(trials_csv({})).rows.empty());
  EXPECT_EQ(measurements_csv({}), "trial,epoch,step,seconds,metrics.val_accuracy\r\n");
  EXPECT_EQ(trials_jsonl({}), "");
}

}  // namespace
}  // namespace lanista::report
