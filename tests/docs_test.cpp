// That pages say what tables of definitions say.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>
#include <string>

#include "lanista/model/autodiff/loss.h"
#include "lanista/model/autodiff/optimizer.h"
#include "lanista/search/study/metric.h"

namespace lanista {
namespace {

std::string page(const std::string& name) {
  std::ifstream file(std::string(LANISTA_SOURCE_DIR) + "/docs/" + name);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(StudyFilePage, ListsEachLossAndOptimiser) {
  const std::string text = page("study-file.md");
  for (const std::string& loss : step::loss_names()) EXPECT_NE(text.find("`" + loss + "`"), std::string::npos) << loss;
  for (const step::Optimizer& optimizer : step::optimizers()) {
    std::ostringstream row;
    row << "| `" << optimizer.name << "` |";
    for (const auto& [number, usual] : optimizer.numbers) row << " `" << number << "` (" << usual << ")";
    row << " | " << (optimizer.decoupled ? "decoupled" : "L2") << " |";
    EXPECT_NE(text.find(row.str()), std::string::npos) << "docs/study-file.md has no row\n" << row.str();
  }
}

TEST(StudyFilePage, ListsEachMetricWithTargetsAndDirection) {
  const std::string text = page("study-file.md");
  const std::map<study::MetricTargets, std::string> targets{{study::MetricTargets::kClasses, "classes"},
                                                            {study::MetricTargets::kTwoClasses, "two classes"},
                                                            {study::MetricTargets::kNumbers, "numbers"},
                                                            {study::MetricTargets::kLabels, "labels"}};
  for (const study::Metric& metric : study::metrics()) {
    const std::string row = "| `" + metric.name + "` | " + targets.at(metric.targets) + " | " +
                            (metric.maximize ? "larger" : "smaller") + " | " + metric.help + " |";
    EXPECT_NE(text.find(row), std::string::npos) << "docs/study-file.md has no row\n" << row;
    if (metric.label_metric.empty()) continue;
    const std::string label_metric = "| `" + metric.name + "` | labels | " + (metric.maximize ? "larger" : "smaller") +
                                  " | " + metric.label_metric + " |";
    EXPECT_NE(text.find(label_metric), std::string::npos) << "docs/study-file.md has no row\n" << label_metric;
  }
}

/// The text of every test: C++ files and scripts below src and tests.
std::string test_sources() {
  std::string out;
  for (const char* folder : {"/src", "/tests"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(std::string(LANISTA_SOURCE_DIR) + folder)) {
      const std::string name = entry.path().filename().string();
      if (!name.ends_with("_test.cpp")) continue;
      std::ostringstream text;
      text << std::ifstream(entry.path()).rdbuf();
      out += text.str();
    }
  }
  return out;
}

TEST(ThreatModelPage, NamesTestsThatExist) {
  const std::string text = page("internals/threat-model.md"), sources = test_sources();
  const std::regex name("`([A-Z][A-Za-z]+)\\.([A-Z][A-Za-z]+|\\*)`|`(tests/[a-z_/.A-Z]+)`");
  int named = 0;
  for (std::sregex_iterator found(text.begin(), text.end(), name); found != std::sregex_iterator(); ++found) {
    ++named;
    const std::string suite = (*found)[1], test = (*found)[2], path = (*found)[3];
    if (!path.empty()) {
      EXPECT_TRUE(std::filesystem::exists(std::string(LANISTA_SOURCE_DIR) + "/" + path)) << path;
      continue;
    }
    const std::string rest = test == "*" ? "" : ", " + test + ")";
    const bool exists = sources.find("TEST(" + suite + rest) != std::string::npos ||
                        sources.find("TEST_F(" + suite + rest) != std::string::npos;
    EXPECT_TRUE(exists) << "docs/internals/threat-model.md names " << suite << "." << test;
  }
  EXPECT_GE(named, 50);
}

}  // namespace
}  // namespace lanista
