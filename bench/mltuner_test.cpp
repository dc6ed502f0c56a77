#include "bench/mltuner.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "lanista/base/rng.h"
#include "lanista/model/graph/text.h"

namespace lanista::bench {
namespace {

/// A line through 24 rows, which a training reaches in a few epochs, with a target on the validation loss.
TuneTask line_task(const std::string& name, double target) {
  data::RawData raw;
  raw.spec.name = raw.spec.source = name;
  raw.spec.features = {{1}};
  Rng rng(1);
  data::Split split;
  for (std::int64_t row = 0; row < 24; ++row) {
    const double x = rng.normal();
    raw.features.push_back(static_cast<float>(x));
    raw.targets.push_back(static_cast<float>(2 * x + 0.1 * rng.normal()));
    split[row % 3 == 0 ? 1 : 0].push_back(row);
  }
  auto data = data::Dataset::make(std::move(raw), std::move(split), "auto", "auto");
  auto model = graph::parse("%0 = input(shape=[1])\n%1 = linear(%0, out=1)\n%2 = output(%1)\n");
  EXPECT_TRUE(data.ok() && model.ok());
  return {
      .name = name, .data = *std::move(data), .model = *std::move(model), .loss = "mse", .batch = 4, .target = target};
}

/// The rows of the oracle, by task and unit; a row without a value by its status.
std::map<std::pair<std::string, std::string>, nlohmann::json> oracle_rows(const std::vector<TuneTask>& tasks) {
  std::ostringstream out;
  BenchRequest request;
  request.name = "mltuner";
  request.json = true;
  request.strategy = "oracle";
  request.seeds = 2;
  const auto done = mltuner_of_tasks(tasks, request, out);
  EXPECT_TRUE(done.ok()) << done.error().text();
  std::map<std::pair<std::string, std::string>, nlohmann::json> rows;
  std::istringstream lines(out.str());
  for (std::string line; std::getline(lines, line);) {
    const auto row = nlohmann::json::parse(line);
    rows[{row.at("case"), row.value("unit", row.value("status", ""))}] = row;
  }
  return rows;
}

TEST(Mltuner, ReportsTargetThatNoSettingReaches) {
  const std::vector<TuneTask> tasks{line_task("never", -1), line_task("soon", 0.9)};

  const auto rows = oracle_rows(tasks);

  EXPECT_EQ(rows.at({"never", "reached"}).at("value"), 0);
  EXPECT_EQ(rows.at({"never", "failed"}).at("reason"), "no setting of the grid reaches the target with all seeds");
  EXPECT_FALSE(rows.contains({"never", "steps, geometric mean"}));
  // The other tasks run, and the means are over them alone.
  EXPECT_EQ(rows.at({"soon", "reached"}).at("value"), 1);
  EXPECT_GT(rows.at({"soon", "steps"}).at("value"), 0);
  EXPECT_EQ(rows.at({"geometric mean", "x oracle"}).at("value"), 1);
}

TEST(Mltuner, HasNoRatioWithoutReachedTarget) {
  const auto rows = oracle_rows({line_task("never", -1)});
  EXPECT_EQ(rows.size(), 2U);
  EXPECT_FALSE(rows.contains({"geometric mean", "x oracle"}));
}

}  // namespace
}  // namespace lanista::bench
