#include "lanista/io/data/undefined_metrics.h"

#include <sstream>

#include "support/io/data/test_support.h"

namespace lanista::data {
namespace {

class UndefinedMetrics : public InMemoryDataTest {
 protected:
  /// Opens a table of rows with these classes.
  Result<Dataset> table(const std::vector<std::string>& classes, std::optional<std::int64_t> folds = {}) {
    std::ostringstream text;
    text << "a,y\n";
    for (std::size_t i = 0; i < classes.size(); ++i) text << i << "," << classes[i] << "\n";
    write("/t.csv", text.str());
    study::DataConfig config;
    config.source = "csv:/t.csv";
    config.folds = folds;
    return open(config, "", disk_);
  }
  static std::string text_of(const std::vector<UndefinedMetric>& all) {
    std::string out;
    for (const UndefinedMetric& each : all) {
      out += each.metric + (each.part == Part::kTest ? " test: " : " validation: ") + each.reason + "\n";
    }
    return out;
  }
};

TEST_F(UndefinedMetrics, NamesMetricPartAndClass) {
  std::vector<std::string> classes(60, "usual");
  classes[7] = "rare";
  const auto one = table(classes);
  ASSERT_TRUE(one.ok()) << one.error().text();
  // The single row is in one part, so the others have none.
  const std::string found = text_of(undefined_metrics(*one, {"accuracy", "roc_auc", "f1"}));
  const bool in_validation = found.find("roc_auc validation") == std::string::npos;
  const bool in_test = found.find("roc_auc test") == std::string::npos;
  EXPECT_FALSE(in_validation && in_test) << found;
  EXPECT_NE(found.find("part has no row of class \"rare\"\n"), std::string::npos) << found;
  EXPECT_EQ(found.find("accuracy"), std::string::npos) << found;
  EXPECT_EQ(found.find("f1"), std::string::npos) << found;
  EXPECT_EQ(text_of(undefined_metrics(*one, {"accuracy", "f1"})), "");

  for (std::size_t i = 0; i < classes.size(); i += 3) classes[i] = "rare";
  const auto enough = table(classes);
  ASSERT_TRUE(enough.ok());
  EXPECT_EQ(text_of(undefined_metrics(*enough, {"roc_auc"})), "");
}

TEST_F(UndefinedMetrics, AcceptsFoldsWithRowsOfEachClass) {
  std::vector<std::string> classes(60, "usual");
  for (std::size_t i = 0; i < classes.size(); i += 3) classes[i] = "rare";
  const auto set = table(classes, 5);
  ASSERT_TRUE(set.ok()) << set.error().text();
  EXPECT_EQ(text_of(undefined_metrics(*set, {"roc_auc"})), "");
}

}  // namespace
}  // namespace lanista::data
