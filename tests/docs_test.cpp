// That pages say what tables of definitions say.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "lanista/step/loss.h"
#include "lanista/step/optimizer.h"
#include "lanista/study/metric.h"

namespace lanista {
namespace {

std::string page(const std::string& name) {
  std::ifstream file(std::string(LANISTA_SOURCE_DIR) + "/docs/" + name);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(StudyFilePage, NamesEveryLossAndEveryOptimiserWithItsNumbers) {
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

TEST(StudyFilePage, NamesEveryMetricWithItsTargetsAndItsBetterSide) {
  const std::string text = page("study-file.md");
  const std::map<study::MetricTargets, std::string> targets{{study::MetricTargets::kClasses, "classes"},
                                                            {study::MetricTargets::kTwoClasses, "two classes"},
                                                            {study::MetricTargets::kNumbers, "numbers"},
                                                            {study::MetricTargets::kLabels, "labels"}};
  for (const study::Metric& metric : study::metrics()) {
    const std::string row = "| `" + metric.name + "` | " + targets.at(metric.targets) + " | " +
                            (metric.maximize ? "larger" : "smaller") + " | " + metric.help + " |";
    EXPECT_NE(text.find(row), std::string::npos) << "docs/study-file.md has no row\n" << row;
    if (metric.of_labels.empty()) continue;
    const std::string of_labels = "| `" + metric.name + "` | labels | " + (metric.maximize ? "larger" : "smaller") +
                                  " | " + metric.of_labels + " |";
    EXPECT_NE(text.find(of_labels), std::string::npos) << "docs/study-file.md has no row\n" << of_labels;
  }
}

}  // namespace
}  // namespace lanista
