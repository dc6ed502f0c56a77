// The data of a study at another place.
#include "lanista/engine/core/moved_data.h"

#include <gtest/gtest.h>

#include "lanista/base/memory_file_system.h"
#include "support/engine/core/test_support.h"

namespace lanista::engine {
namespace {

using namespace testing;

std::string table(int last) {
  std::string out = "a,b,y\n";
  for (int i = 0; i < 40; ++i) {
    out += std::to_string(i) + "," + std::to_string(i * i % 17) + "," + (i % 2 == 0 ? "yes" : "no") + "\n";
  }
  return out + "1,2," + (last == 0 ? "yes" : "no") + "\n";
}

struct MovedData : ::testing::Test {
  /// Runs a study on /data/t.csv.
  void SetUp() override {
    bench.disk.put("/data/t.csv", table(0));
    config = small_study(2);
    config.data.source = "csv:/data/t.csv?target=y";
    const auto data = data::open(config.data, kFolder, bench.disk);
    ASSERT_TRUE(data) << data.error().text();
    bench.data = data->spec();
    const auto done = bench.run(config, FakeOptions{});
    ASSERT_TRUE(done) << done.error().text();
    const auto bytes = bench.disk.files().at("/data/t.csv");
    ASSERT_TRUE(bench.disk.remove("/data/t.csv"));
    bench.disk.put("/new/t.csv", bytes);
    const auto stored = stored_config(bench.disk, kFolder);
    ASSERT_TRUE(stored);
    config = *stored;
  }
  Bench bench;
  study::StudyConfig config;
};

TEST_F(MovedData, NamesTheOptionIfTheFileIsMissing) {
  const auto data = open_study_data(config, kFolder, bench.disk);
  ASSERT_FALSE(data.ok());
  EXPECT_NE(data.error().message.find("lanista resume " + kFolder + " --set data.source=SOURCE"), std::string::npos)
      << data.error().message;
}

TEST_F(MovedData, IsFoundByLaterCommands) {
  const std::string log = bench.disk.files().at(kLog);
  const auto moved = move_study_data(config, kFolder, "csv:/new/t.csv?target=y", bench.disk);
  ASSERT_TRUE(moved) << moved.error().text();
  study::StudyConfig later = config;
  const auto data = open_study_data(later, kFolder, bench.disk);
  ASSERT_TRUE(data) << data.error().text();
  EXPECT_EQ(data->spec().hash, bench.data.hash);
  EXPECT_EQ(later.data.source, "csv:/new/t.csv?target=y");
  EXPECT_EQ(bench.disk.files().at(kLog), log) << "the log keeps the first place";
}

TEST_F(MovedData, RefusesOtherContent) {
  bench.disk.put("/new/other.csv", table(1));
  const auto moved = move_study_data(config, kFolder, "csv:/new/other.csv?target=y", bench.disk);
  ASSERT_FALSE(moved.ok());
  EXPECT_EQ(moved.error().code, Code::kFailedPrecondition);
  EXPECT_NE(moved.error().message.find("csv:/new/other.csv?target=y has other data than the study"), std::string::npos)
      << moved.error().message;
  EXPECT_FALSE(bench.disk.exists(kFolder + "/" + kMovedDataFile));
}

}  // namespace
}  // namespace lanista::engine
