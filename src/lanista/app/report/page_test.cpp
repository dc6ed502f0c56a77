#include "lanista/app/report/page.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <set>

#include "lanista/app/report/page_assets.h"
#include "lanista/app/report/page_columns.h"
#include "lanista/app/report/page_data.h"
#include "support/app/report/test_view.h"

namespace lanista::report {
namespace {

using nlohmann::json;
using testing::decoded;

const std::string kOpen = "<script id=\"data\" type=\"application/json\">";

std::string data_block(const std::string& page) {
  const auto begin = page.find(kOpen) + kOpen.size();
  return page.substr(begin, page.find("</script>", begin) - begin);
}

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t found = 0;
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

TEST(Base64, EqualsRfc4648Examples) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(base64("\xff\xfe\xfd"), "//79");
}

TEST(PackedIntegers, UseFewestBytes) {
  const auto packed = [](std::vector<std::int64_t> values) { return packed_integers(values); };

  EXPECT_EQ(packed({7, 7, 7}), (json{{"same", 7}}));
  EXPECT_EQ(packed({1, 255}), (json{{"u", 1}, {"d", base64("\x01\xff")}}));
  EXPECT_EQ(packed({0, 256}), (json{{"u", 2}, {"d", base64(std::string("\0\0\0\x01", 4))}}));
  EXPECT_EQ(packed({0, 65536})["u"], 3);
  EXPECT_EQ(packed({0, std::int64_t{1} << 40})["u"], 4);
  EXPECT_EQ(packed({-5, 1}), packed({0, 1}));
  EXPECT_EQ(packed({}), (json{{"u", 1}, {"d", ""}}));
}

TEST(PackedReals, KeepNumbersNaNAndAbsentValues) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> values{0.97125, -3e-5, 0, inf, -inf, nan, absent(), 1e300};
  for (const int width : {3, 4}) {
    const json packed = packed_reals(values, width);
    const std::string bytes = decoded(packed["d"]);
    ASSERT_EQ(bytes.size(), values.size() * static_cast<std::size_t>(width));
    const auto value = [&](std::size_t i) {
      std::string four(4, '\0');
      const auto w = static_cast<std::size_t>(width);
      std::memcpy(four.data() + 4 - w, bytes.data() + i * w, w);
      float real = 0;
      std::memcpy(&real, four.data(), 4);
      return real;
    };
    EXPECT_NEAR(value(0), 0.97125, width == 3 ? 2e-5 : 1e-7);
    EXPECT_NEAR(value(1), -3e-5, width == 3 ? 1e-9 : 1e-11);
    EXPECT_EQ(value(2), 0);
    EXPECT_EQ(value(3), inf);
    EXPECT_EQ(value(4), -inf);
    EXPECT_TRUE(std::isnan(value(5)) && !std::signbit(value(5)));
    EXPECT_TRUE(std::isnan(value(6)) && std::signbit(value(6))) << "a missing value is the NaN with a sign";
    EXPECT_EQ(value(7), inf) << "larger than any float";
  }
}

TEST(PackedNames, StoreEachNameOnceInOrder) {
  const std::vector<std::string> values{"sgd", "", "adam", "sgd"}, known{"adam"};

  const json packed = packed_names(values, known);

  EXPECT_EQ(packed["names"], (json{"", "adam", "sgd"}));
  EXPECT_EQ(decoded(packed["of"]["d"]), std::string("\2\0\1\2", 4));
}

TEST(Clipped, CutsBetweenCharacters) {
  EXPECT_EQ(clip_utf8("short", 5), "short");
  EXPECT_EQ(clip_utf8("longer", 5), "longe…");
  EXPECT_EQ(clip_utf8("ab\xC3\xA9z", 3), "ab…");
}

TEST(Page, ContainsMetricsOfSelectedEpoch) {
  study::StudyView view = testing::small_study();
  view.trials[0].measurements.push_back({TrialId{1}, 3, 30, {{"train_loss", 0.125}, {"val_accuracy", 0.625}}});
  const std::vector<std::size_t> rows{0, 1, 2, 3, 4};
  EXPECT_EQ(decoded(trial_columns(view, rows, 4)["kept"]["d"]), std::string("\2\1\1\0\1", 5));
  view.config.train.measured.keep = study::kKeepLast;
  EXPECT_EQ(decoded(trial_columns(view, rows, 4)["kept"]["d"]), std::string("\3\1\1\0\1", 5));
}

TEST(Page, ExcludesViolatedConstraintsFromFront) {
  study::StudyView view = testing::random_study(40, 3);
  view.config.train.measured.keep = study::kKeepLast;
  view.config.goals = {{true, "val_accuracy"}, {false, "train_loss"}};
  view.config.subject_to = {*study::Constraint::parse("val_accuracy <= 0.5")};
  const auto bits = [&] {
    std::vector<std::size_t> rows(view.trials.size());
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = i;
    const json column = trial_columns(view, rows, 4)["off_front"];
    if (column.contains("same")) return std::string(rows.size(), static_cast<char>(column["same"].get<int>()));
    return decoded(column["d"]);
  };

  const std::string off = bits();
  std::size_t broken = 0;
  for (std::size_t i = 0; i < view.trials.size(); ++i) {
    const study::TrialView& trial = view.trials[i];
    const bool finished = trial.outcome && study::ranks(trial, *trial.outcome);
    const double accuracy = finished ? trial.measurements.back().metrics.at("val_accuracy") : 0;
    EXPECT_EQ(off[i] == 1, finished && !(accuracy <= 0.5)) << i;
    broken += static_cast<std::size_t>(off[i]);
  }
  EXPECT_GT(broken, 5U);
  const std::vector<TrialId> front = study::pareto_front(study::ranking_keys(view));
  EXPECT_FALSE(front.empty());
  for (const TrialId id : front) EXPECT_EQ(off[id.value - 1], 0) << id.value;

  view.config.subject_to = {*study::Constraint::parse("val_accuracy >= 2")};  // no trial can satisfy half of this
  const std::string none = bits();
  for (const TrialId id : study::pareto_front(study::ranking_keys(view))) EXPECT_EQ(none[id.value - 1], 0) << id.value;
}

TEST(Page, IsOneWholeDocument) {
  const std::string page = report_page(testing::small_study(), {"studies/x", "0.1", 5'000'000});

  EXPECT_TRUE(page.starts_with("<!DOCTYPE html>\n"));
  EXPECT_TRUE(page.ends_with("</html>\n"));
  EXPECT_EQ(count(page, "<script"), 2U);
  EXPECT_EQ(count(page, "</script"), 2U);
  EXPECT_EQ(count(page, "http://"), 1U) << "the name space of SVG";
  EXPECT_EQ(count(page, "https://"), 0U);
  EXPECT_EQ(count(page, "innerHTML") + count(page, "insertAdjacentHTML") + count(page, "document.write") +
                count(page, "outerHTML") + count(page, "eval("),
            0U);
}

TEST(Page, AllowsOnlyHashedScriptAndStyle) {
  const std::string page = report_page(testing::small_study(), {"studies/x", "0.1", 5'000'000});

  EXPECT_NE(
      page.find("content=\"default-src 'none'; script-src '" + std::string(page_script_hash()) + "'; style-src '" +
                std::string(page_style_hash()) + "'; img-src data:; base-uri 'none'; form-action 'none'\""),
      std::string::npos);
  EXPECT_EQ(page_script_hash().size(), 7U + 44U);
  EXPECT_EQ(page.find("unsafe-inline"), std::string::npos);
}

TEST(Page, EscapesTextsOfStudy) {
  study::StudyView view = testing::small_study();
  const std::string attack = "</script><script>alert(1)</script><!--";
  view.config.name = attack;
  view.trials.front().outcome = study::Outcome{study::OutcomeKind::kFailed, attack + "\xff", {}, "", {}};
  view.models = {{{"name", attack}, {"graph", attack}}, 7};

  const std::string page = report_page(view, {attack, attack, 5'000'000});

  EXPECT_EQ(count(page, "alert(1)"), count(data_block(page), "alert(1)"));
  EXPECT_EQ(data_block(page).find('<'), std::string::npos);
  EXPECT_EQ(json::parse(data_block(page))["study"]["name"], attack);
}

TEST(Page, EqualStudiesGiveEqualBytes) {
  const auto view = testing::random_study(300, 4);

  EXPECT_EQ(report_page(view, {"a", "1", 5'000'000}), report_page(view, {"a", "1", 5'000'000}));
}

TEST(Page, StaysWithinByteLimitAndReportsOmissions) {
  const auto view = testing::random_study(3000, 6);
  for (const std::size_t most : {2'000'000UL, 400'000UL, 220'000UL}) {
    const std::string page = report_page(view, {"a", "1", most});
    const json data = json::parse(data_block(page));

    EXPECT_LE(page.size(), most);
    EXPECT_EQ(data["proposed"], 3000);
    EXPECT_LE(data["trials"]["count"].get<int>(), 3000);
    EXPECT_GE(data["trials"]["count"].get<int>(), 100);
  }
}

study::ModelAssessment assessment_of(TrialId trial) {
  study::ModelAssessment out{trial, "abc", 3, 1, {}};
  study::PartAssessment part;
  part.part = "validation";
  part.rows = 12;
  part.confusion = {4, 1, 0, 0, 3, 0, 2, 0, 2};
  part.classes = {{2, 4, 1, 0.5}, {0, 5, 0.66, 0.8}, {1, 3, 0.75, 1}};
  part.confused = {{2, 0, 2}, {0, 1, 1}};
  out.parts = {part};
  return out;
}

TEST(Page, ShowsQualityByClassName) {
  study::StudyView view = testing::small_study();
  view.winner = TrialId{1};
  view.data = {{"labels", {"cat", 7, "2"}}};
  view.baselines = {{"linear", {{"val_accuracy", 0.5}, {"unheard of", 1}}}};
  PageOptions options{"a", "1"};
  EXPECT_TRUE(quality_facts(view, options).is_null()) << "there is no assessment";

  options.assessment = assessment_of(*view.winner);
  const nlohmann::json result = quality_facts(view, options);

  EXPECT_EQ(result.at("names"), (nlohmann::json{{"0", "cat"}})) << "only names that are texts and not the number";
  EXPECT_EQ(result.at("parts")[0].at("confusion"), (nlohmann::json{4, 1, 0, 0, 3, 0, 2, 0, 2}));
  EXPECT_FALSE(result.contains("weights_hash"));
  const nlohmann::json baselines = study_facts(view, options).at("study").at("baselines");
  EXPECT_EQ(baselines, nlohmann::json::parse(R"([{"name": "linear", "metrics": {"val_accuracy": 0.5}}])"));
  EXPECT_FALSE(study_facts(view, options).at("study").contains("unbeaten"));
  view.baselines[0].metrics["val_accuracy"] = 1;
  EXPECT_EQ(study_facts(view, options).at("study").at("unbeaten"),
            nlohmann::json::parse(R"({"baseline": "linear", "value": 1, "better": true})"));
  view.winner = TrialId{2};
  EXPECT_TRUE(quality_facts(view, options).is_null()) << "it belongs to another trial";
}

TEST(Page, ShowsQualityByLabelName) {
  study::StudyView view = testing::small_study();
  view.winner = TrialId{1};
  PageOptions options{"a", "1"};
  options.assessment = study::ModelAssessment{TrialId{1}, "abc", 0, 3, {}, true};
  study::PartAssessment part;
  part.part = "validation";
  part.rows = 12;
  part.classes = {{2, 0, 0, 0}, {0, 7, 0.5, 0.25}, {1, 3, 1, 1}};
  options.assessment->parts = {part};

  for (const auto& [data, names] :
       {std::pair(R"({"schema": {"target": {"names": ["rain", "wind", "2"]}}})", R"({"0": "rain", "1": "wind"})"),
        std::pair(R"({"schema": {"target": {"name": "rain"}}})", "{}"), std::pair(R"({"schema": ["target"]})", "{}"),
        std::pair(R"({"schema": {"target": {"names": [7, null]}}, "labels": ["a", "b"]})", "{}"),
        std::pair("[]", "{}")}) {
    view.data = json::parse(data);
    const json result = quality_facts(view, options);
    EXPECT_EQ(result.at("names"), json::parse(names)) << data;
    EXPECT_EQ(result.at("multilabel"), true);
    EXPECT_EQ(result.at("parts")[0].at("labels")[1],
              json::parse(R"({"label": 0, "rows": 7, "precision": 0.5, "recall": 0.25})"));
  }
}

TEST(ByImportance, ListsRecordsAndWinnerFirstAndEachTrialOnce) {
  auto view = testing::random_study(2000, 8);
  const auto ranked = study::ranking(view);
  view.winner = ranked.front();

  const auto order = by_display_priority(view);

  ASSERT_EQ(order.size(), 2000U);
  EXPECT_EQ(std::set<std::size_t>(order.begin(), order.end()).size(), 2000U);
  const std::set<std::size_t> first(order.begin(), order.begin() + 600);
  for (std::size_t i = 0; i < std::min<std::size_t>(500, ranked.size()); ++i) {
    EXPECT_TRUE(first.contains(ranked[i].value - 1)) << "rank " << i + 1;
  }
}

TEST(PageData, ContainsEnsembleMembers) {
  auto view = testing::random_study(20, 8);
  EXPECT_FALSE(json::parse(page_data(view, {"a", "1", 5'000'000}, 4'000'000))["study"].contains("ensemble"));
  view.winner = TrialId{3};
  view.ensemble =
      study::Ensemble{{{TrialId{3}, 3}, {TrialId{5}, 1}}, {{"val_accuracy", 0.5}}, {{"test_accuracy", 0.25}}};

  const json ensemble = json::parse(page_data(view, {"a", "1", 5'000'000}, 4'000'000))["study"]["ensemble"];

  EXPECT_EQ(ensemble["members"], json::parse(R"([{"trial": 3, "share": 0.75}, {"trial": 5, "share": 0.25}])"));
  EXPECT_EQ(ensemble["validation"]["val_accuracy"], 0.5);
  EXPECT_EQ(ensemble["test"]["test_accuracy"], 0.25);
}

TEST(PageData, HasEmptyColumnsForEmptyStudy) {
  const json data = json::parse(page_data({}, {"a", "1", 5'000'000}, 4'000'000));

  EXPECT_EQ(data["trials"]["count"], 0);
  EXPECT_EQ(data["curves"]["count"], 0);
  EXPECT_EQ(data["timeline"]["count"], 0);
  EXPECT_TRUE(data["models"].empty());
  EXPECT_TRUE(data["study"]["winner"].is_null());
}

TEST(ModelDrawings, ShowBestModelsAndTheirChanges) {
  study::StudyView view;
  view.config.goals = {{true, "val_accuracy"}};
  view.models = {{{"name", "mlp"},
                  {"graph",
                   "%0 = input(shape=[8])\n%1 = linear(%0, out=16)\n%2 = relu(%1)\n%3 = linear(%2, out=3)\n"
                   "%4 = output(%3)\n"}}};
  study::TrialView trial;
  trial.id = TrialId{1};
  trial.proposal.edits = {graph::SetAttr{graph::NodeId{1}, "out", std::int64_t{32}}};
  trial.measurements = {{trial.id, 1, 1, {{"val_accuracy", 0.9}}}};
  trial.outcome = study::Outcome{};
  view.trials = {trial};

  const json drawings = model_drawings(view, 100'000);

  ASSERT_EQ(drawings.size(), 1U);
  EXPECT_EQ(drawings[0]["nodes"].size(), 5U);
  EXPECT_EQ(drawings[0]["nodes"][1]["change"], "changed");
  EXPECT_EQ(drawings[0]["nodes"][1]["note"], "out 16 -> 32");
  EXPECT_EQ(drawings[0]["nodes"][0]["change"], "same");
  EXPECT_EQ(drawings[0]["paths"].size(), 4U);
}

TEST(ModelDrawings, ReportWhyDrawingIsMissing) {
  study::StudyView view = testing::small_study();
  for (study::TrialView& trial : view.trials) trial.proposal.base = 0;
  view.models = json::array();

  const json drawings = model_drawings(view, 100'000);

  ASSERT_FALSE(drawings.empty());
  EXPECT_EQ(drawings[0]["error"], "base model 0 is not recorded");
}

}  // namespace
}  // namespace lanista::report
