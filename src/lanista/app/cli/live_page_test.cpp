#include "lanista/app/cli/live_page.h"

#include <gtest/gtest.h>

#include "lanista/base/memory_file_system.h"
#include "support/base/faulty_file_system.h"
#include "support/engine/core/test_support.h"

namespace lanista::cli {
namespace {

using engine::testing::kFolder;

const std::string kLog = kFolder + "/log/000001.log";
const std::string kPage = kFolder + "/report.html";

bool is_live(const MemoryFileSystem& disk) {
  return disk.files().at(kPage).find("\"reload\":null") == std::string::npos;
}
std::string page_of(const MemoryFileSystem& disk) { return disk.files().at(kPage); }

/// A study with a log that is written to disk in parts.
struct GrowingStudy {
  engine::testing::Bench bench;
  std::string log;
  GrowingStudy() {
    LANISTA_CHECK(bench.run(engine::testing::small_study(6), {}).ok(), "the test's own study");
    log = bench.disk.files().at(kLog);
  }
  void put(double share) {
    bench.disk.put(kLog, log.substr(0, static_cast<std::size_t>(share * static_cast<double>(log.size()))));
  }
};

TEST(LivePage, FollowsLogAndEndsAsStaticPage) {
  GrowingStudy study;
  study.put(0.5);
  auto page = LivePage::open(study.bench.disk, study.bench.clock, kFolder, kPage);
  ASSERT_TRUE(page.ok()) << page.error().text();
  EXPECT_TRUE(is_live(study.bench.disk));
  const std::string first = page_of(study.bench.disk);

  study.bench.clock.advance(100);
  EXPECT_FALSE(*page->refresh()) << "nothing is new";
  EXPECT_EQ(page_of(study.bench.disk), first);
  study.put(0.8);
  EXPECT_TRUE(*page->refresh());
  EXPECT_NE(page_of(study.bench.disk), first);
  EXPECT_TRUE(is_live(study.bench.disk));
  study.put(1);
  ASSERT_TRUE(page->finish().ok());

  EXPECT_FALSE(is_live(study.bench.disk));
  EXPECT_TRUE(page->view().end_reason);
  for (const auto& [path, bytes] : study.bench.disk.files()) EXPECT_FALSE(path.ends_with(".tmp")) << path;
}

TEST(LivePage, IsWrittenAtMostOncePerSecond) {
  GrowingStudy study;
  study.put(0.4);
  auto page = LivePage::open(study.bench.disk, study.bench.clock, kFolder, kPage);
  ASSERT_TRUE(page.ok()) << page.error().text();
  int written = 0;
  for (int tick = 0; tick < 100; ++tick) {
    study.bench.clock.advance(0.1);
    study.put(0.4 + 0.005 * tick);
    written += *page->refresh() ? 1 : 0;
  }

  EXPECT_GE(written, 1);
  EXPECT_LE(written, 10);
}

TEST(LivePage, ReportsReadAndWriteErrors) {
  GrowingStudy study;
  const VirtualClock& clock = study.bench.clock;
  EXPECT_EQ(LivePage::open(study.bench.disk, clock, "/studies/none", kPage).error().code, Code::kNotFound);

  study.put(0.5);
  for (std::int64_t call = 0; call < 2; ++call) {
    FaultyFileSystem full(study.bench.disk, {.at = call});
    EXPECT_EQ(LivePage::open(full, clock, kFolder, kPage).error().code, Code::kResourceExhausted) << call;
    EXPECT_FALSE(study.bench.disk.files().contains(kPage));
  }
}

}  // namespace
}  // namespace lanista::cli
