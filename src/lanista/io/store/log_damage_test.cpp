// What a power loss may leave of a log, and what the next writer may cut.
#include <gtest/gtest.h>

#include <limits>

#include "lanista/base/memory_file_system.h"
#include "lanista/io/store/log.h"
#include "lanista/io/store/sync_mark.h"

namespace lanista::store {
namespace {

using Json = nlohmann::json;

const std::string kFolder = "/studies/s";
const std::string kPath = kFolder + "/log/000001.log";

Json numbered(int i) { return {{"trial", i}, {"text", std::string(static_cast<std::size_t>(i * 37 % 200), 'x')}}; }

struct LogDamage : ::testing::Test {
  MemoryFileSystem disk;
  VirtualClock clock;

  LogWriter open() {
    auto log = LogWriter::open(disk, clock, kFolder);
    LANISTA_CHECK(log.ok(), log ? "" : log.error().text());
    return *std::move(log);
  }
  /// A header and records 1 to n; `synced` of them with a sync behind each.
  void write(int synced, int n) {
    LogWriter log = open();
    ASSERT_TRUE(log.append(RecordType::kHeader, {{"config", "x"}}));
    for (int i = 1; i <= n; ++i) {
      ASSERT_TRUE(log.append(RecordType::kMeasurement, numbered(i)));
      const auto done = i <= synced ? log.sync() : Result<void>();
      ASSERT_TRUE(done);
    }
  }
  void set_bytes(const std::string& bytes) { disk.put(kPath, bytes); }
};

TEST_F(LogDamage, KeepsSyncedRecordsAfterPowerLoss) {
  int holes = 0;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    disk = MemoryFileSystem();
    Rng rng(seed);
    const int synced = static_cast<int>(rng.below(6)), n = synced + static_cast<int>(rng.below(8));
    write(synced, n);
    const std::string promised = disk.synced(kPath);

    disk.simulate_power_loss(seed % 2 == 0 ? PowerLoss::kBytes : PowerLoss::kSampled, rng.split("cut"));

    const std::string left = disk.read(kPath) ? *disk.read(kPath) : "";
    ASSERT_TRUE(left.starts_with(promised)) << seed << ": the test's own disk";
    holes += decode_frames(left).has_data_after_damage;
    const auto reader = read_log(disk, kFolder);
    ASSERT_TRUE(reader) << seed << ": " << reader.error().text();
    std::size_t kept = 0;
    {
      LogWriter log = open();
      kept = log.existing().size();
      ASSERT_GE(kept, static_cast<std::size_t>(synced) + 1) << seed;
      for (std::size_t i = 1; i < kept; ++i) {
        ASSERT_EQ(log.existing()[i].body, numbered(static_cast<int>(i))) << seed;
      }
      // The log continues from there, through another power loss.
      ASSERT_TRUE(log.append(RecordType::kMeasurement, numbered(static_cast<int>(kept))));
      ASSERT_TRUE(log.sync());
    }
    disk.simulate_power_loss(PowerLoss::kSampled, rng.split("again"));
    const auto after = read_log(disk, kFolder);
    ASSERT_TRUE(after) << seed << ": " << after.error().text();
    ASSERT_EQ(after->size(), kept + 1) << seed;
    ASSERT_EQ(after->back().body, numbered(static_cast<int>(kept))) << seed;
  }
  EXPECT_GT(holes, 30) << "whole records behind a hole are what this is about";
}

TEST_F(LogDamage, IsNeverCutBeforeTheLastMark) {
  write(3, 5);
  const std::string whole = *disk.read(kPath);
  const std::size_t promised = disk.synced(kPath).size();
  int refused = 0, cut = 0;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string bad = whole;
    bad[i] = static_cast<char>(bad[i] ^ 0x10);
    set_bytes(bad);

    const auto log = LogWriter::open(disk, clock, kFolder);

    if (i < promised) {
      ASSERT_FALSE(log) << "byte " << i;
      EXPECT_EQ(log.error().code, Code::kDataLoss);
      EXPECT_EQ(*disk.read(kPath), bad) << "nothing is cut off a damaged log";
      ++refused;
    } else {
      ASSERT_TRUE(log) << "byte " << i << ": " << log.error().text();
      EXPECT_GT(log->cut_bytes(), 0U);
      EXPECT_GE(log->existing().size(), 4U);
      ++cut;
    }
  }
  EXPECT_GT(refused, 200);
  EXPECT_GT(cut, 100);
}

TEST_F(LogDamage, RefusesDamageBeforeRecordsWithoutMarks) {
  std::string old;
  encode_frame(1, R"({"schema":1})", old);
  const std::size_t header = old.size();
  encode_frame(4, R"({"trial":1})", old);
  encode_frame(4, R"({"trial":2})", old);
  std::string bad = old;
  bad[header + 10] = 0;
  set_bytes(bad);
  EXPECT_EQ(LogWriter::open(disk, clock, kFolder).error().code, Code::kDataLoss);

  // A build with marks syncs what it found, so that no power loss makes the log unreadable later.
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    set_bytes(old);
    {
      LogWriter log = open();
      for (int i = 3; i < 8; ++i) ASSERT_TRUE(log.append(RecordType::kMeasurement, numbered(i)));
    }
    disk.simulate_power_loss(PowerLoss::kBytes, Rng(seed));
    const auto left = read_log(disk, kFolder);
    ASSERT_TRUE(left) << seed << ": " << left.error().text();
    ASSERT_GE(left->size(), 3U);
    bad = *disk.read(kPath);
    bad[header + 10] = 0;
    set_bytes(bad);
    ASSERT_EQ(LogWriter::open(disk, clock, kFolder).error().code, Code::kDataLoss) << seed;
  }
}

TEST_F(LogDamage, IgnoresMarksOfOtherOffsets) {
  write(2, 2);
  const std::string whole = *disk.read(kPath);
  std::string stale = whole + std::string(16, '\0');
  encode_frame(static_cast<std::uint16_t>(RecordType::kAttempt), mark_payload(7), stale);
  set_bytes(stale);

  const auto log = LogWriter::open(disk, clock, kFolder);

  ASSERT_TRUE(log) << log.error().text();
  EXPECT_EQ(log->cut_bytes(), stale.size() - whole.size());
}

TEST_F(LogDamage, LeavesMarksOutOfTheRecords) {
  write(3, 3);
  const auto records = read_log(disk, kFolder);
  ASSERT_TRUE(records);
  EXPECT_EQ(records->size(), 4U);
  EXPECT_EQ(decode_frames(*disk.read(kPath)).frames.size(), 8U);  // header and records, each with its mark
  const std::string before = *disk.read(kPath);
  open();
  EXPECT_EQ(*disk.read(kPath), before) << "to open a log that is whole changes nothing";
}

TEST_F(LogDamage, KeepsRecordsAfterLostDeferredRecord) {
  write(0, 2);  // the process is killed: neither record was synced
  open();       // a second process reads them and acts on them
  disk.simulate_power_loss(PowerLoss::kBytes, Rng(3));
  disk.simulate_power_loss(PowerLoss::kNames, Rng(3));

  EXPECT_EQ(read_log(disk, kFolder)->size(), 3U);
}

TEST_F(LogDamage, DropsTornTailForGood) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    disk = MemoryFileSystem();
    write(2, 2);
    const std::string whole = *disk.read(kPath);
    set_bytes(whole + std::string(100, '\7'));
    open();
    disk.simulate_power_loss(PowerLoss::kBytes, Rng(seed));
    ASSERT_EQ(*disk.read(kPath), whole) << seed;
  }
}

TEST_F(LogDamage, KeepsRecordsOlderThanOneSecond) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    disk = MemoryFileSystem();
    {
      LogWriter log = open();
      ASSERT_TRUE(log.append(RecordType::kHeader, {{"config", "x"}}));
      clock.advance(0.5);
      ASSERT_TRUE(log.append(RecordType::kMeasurement, numbered(1)));
      clock.advance(0.6);
      ASSERT_TRUE(log.append(RecordType::kMeasurement, numbered(2)));
    }
    disk.simulate_power_loss(PowerLoss::kSampled, Rng(seed));
    const auto left = read_log(disk, kFolder);
    ASSERT_TRUE(left) << seed << ": " << left.error().text();
    ASSERT_EQ(left->size(), 3U) << seed;
  }
}

TEST_F(LogDamage, IsNotWritten) {
  LogWriter log = open();
  ASSERT_TRUE(log.append(RecordType::kHeader, {{"config", "x"}}));
  const std::string before = *disk.read(kPath);
  for (const double value : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    const auto refused = log.append(RecordType::kStudyEnd, {{"test", {{"test_loss", value}}}});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
  }
  Json deep = 1;
  for (int i = 0; i < 65; ++i) deep = Json::array({deep});
  EXPECT_EQ(log.append(RecordType::kNumerics, deep).error().code, Code::kInvalidArgument);
  log.set_body_check([](RecordType type, const Json&) -> Result<void> {
    if (type == RecordType::kOutcome) return Error{Code::kDataLoss, "no outcome", ""};
    return {};
  });
  EXPECT_EQ(log.append(RecordType::kOutcome, Json::object()).error().code, Code::kInternal);
  EXPECT_EQ(*disk.read(kPath), before);

  // A refusal is not a failure of the disk.
  EXPECT_TRUE(log.append(RecordType::kMeasurement, numbered(1)));
}

}  // namespace
}  // namespace lanista::store
