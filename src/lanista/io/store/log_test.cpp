#include "lanista/io/store/log.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "lanista/base/rng.h"
#include "lanista/io/store/record_json.h"
#include "support/base/faulty_file_system.h"
#include "support/base/temporary_folder.h"

namespace lanista::store {
namespace {

using Json = nlohmann::json;

class Log : public ::testing::Test {
 protected:
  std::string path() const { return folder_ + "/log/000001.log"; }
  void write_log(const std::string& bytes) {
    std::filesystem::create_directories(folder_ + "/log");
    std::ofstream(path(), std::ios::binary) << bytes;  // no sync: the tests write hundreds
  }
  /// The bytes of a log of a header and `n` measurements.
  std::string sample_log(int n) {
    auto log = LogWriter::open(fs_, clock_, folder_);
    EXPECT_TRUE(log.ok()) << log.error().message;
    EXPECT_TRUE(log->append(RecordType::kHeader, {{"config", {{"name", "x"}}}}).ok());
    for (int i = 0; i < n; ++i) EXPECT_TRUE(log->append(RecordType::kMeasurement, measurement(i)).ok());
    EXPECT_TRUE(log->sync().ok());
    return *fs_.read(path());
  }
  static Json measurement(int i) { return {{"trial", i}, {"metrics", {{"loss", 0.1 * i}}}}; }

  FileSystem& fs_ = real_file_system();
  VirtualClock clock_;
  TemporaryFolder temporary_{"log"};
  std::string folder_ = temporary_.path();
};

TEST_F(Log, RoundTripsRecords) {
  const Json odd = {{"x", 0.1}, {"tiny", 5e-324}, {"big", 1.7976931348623157e308}, {"n", 9007199254740993}};
  {
    auto log = LogWriter::open(fs_, clock_, folder_);
    ASSERT_TRUE(log.ok()) << log.error().message;
    EXPECT_TRUE(log->existing().empty());
    ASSERT_TRUE(log->append(RecordType::kHeader, {{"config", 1}}).ok());
    ASSERT_TRUE(log->append(RecordType::kMeasurement, odd).ok());

    // A reader needs neither lock nor sync.
    const auto seen = read_log(fs_, folder_);
    ASSERT_TRUE(seen.ok());
    EXPECT_EQ(seen->size(), 2U);
  }

  auto again = LogWriter::open(fs_, clock_, folder_);

  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(again->cut_bytes(), 0U);
  ASSERT_EQ(again->existing().size(), 2U);
  EXPECT_EQ(again->existing()[0].body, (Json{{"config", 1}, {"schema", kPlainSchema}, {"marks", true}}));
  EXPECT_EQ(again->existing()[1].type, RecordType::kMeasurement);
  EXPECT_EQ(again->existing()[1].body, odd);
  again->release_existing();
  EXPECT_TRUE(again->existing().empty());
}

TEST_F(Log, BeginsWithAHeader) {
  auto log = LogWriter::open(fs_, clock_, folder_);
  ASSERT_TRUE(log.ok());

  const auto result = log->append(RecordType::kOutcome, {{"trial", 1}});

  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Code::kFailedPrecondition);
  EXPECT_TRUE(log->append(RecordType::kHeader, Json::object()).ok());
}

TEST_F(Log, ReplacesTextThatIsNotUtf8) {
  {
    auto log = LogWriter::open(fs_, clock_, folder_);
    ASSERT_TRUE(log.ok());
    ASSERT_TRUE(log->append(RecordType::kHeader, Json::object()).ok());
    ASSERT_TRUE(log->append(RecordType::kOutcome, {{"reason", "bad \xFF byte"}}).ok());
  }
  const auto records = read_log(fs_, folder_);
  ASSERT_TRUE(records.ok());
  EXPECT_EQ((*records)[1].body["reason"], "bad \xEF\xBF\xBD byte");
}

TEST_F(Log, SyncsAtMostOnceASecondAndOnRequest) {
  FaultyFileSystem counting(fs_, {});
  auto log = LogWriter::open(counting, clock_, folder_);
  ASSERT_TRUE(log.ok());
  const auto calls_of = [&](const auto& action) {
    const std::int64_t before = counting.calls();
    EXPECT_TRUE(action().ok());
    return counting.calls() - before;
  };
  const auto append = [&] { return log->append(RecordType::kHeader, Json::object()); };
  const auto sync = [&] { return log->sync(); };

  EXPECT_EQ(calls_of(append), 3);  // a header: the write, a sync, the mark
  EXPECT_EQ(calls_of(append), 1);  // the write alone
  clock_.advance(1);
  EXPECT_EQ(calls_of(append), 3);
  EXPECT_EQ(calls_of(append), 1);
  EXPECT_EQ(calls_of(sync), 2);
  EXPECT_EQ(calls_of(sync), 0);  // nothing new to sync
}

TEST_F(Log, DefersRecordUntilTheNext) {
  const auto trials_on_disk = [&] {
    std::vector<int> out;
    const auto records = read_log(fs_, folder_);
    for (const Record& record : *records) {
      if (record.type != RecordType::kHeader) out.push_back(record.body["trial"].get<int>());
    }
    return out;
  };
  auto log = LogWriter::open(fs_, clock_, folder_);
  ASSERT_EQ(log->append_deferred(RecordType::kPlan, measurement(0)).error().code, Code::kFailedPrecondition);
  ASSERT_TRUE(log->append(RecordType::kHeader, {{"config", 1}}).ok());
  ASSERT_TRUE(log->append_deferred(RecordType::kPlan, measurement(1)).ok());
  ASSERT_TRUE(log->append_deferred(RecordType::kPlan, measurement(2)).ok());
  EXPECT_TRUE(trials_on_disk().empty());

  ASSERT_TRUE(log->append(RecordType::kMeasurement, measurement(3)).ok());
  EXPECT_EQ(trials_on_disk(), (std::vector{1, 2, 3})) << "in their order";
  ASSERT_TRUE(log->append_deferred(RecordType::kPlan, measurement(4)).ok());
  ASSERT_TRUE(log->sync().ok());
  EXPECT_EQ(trials_on_disk(), (std::vector{1, 2, 3, 4}));

  ASSERT_TRUE(log->append_deferred(RecordType::kPlan, measurement(5)).ok());
  log = LogWriter(std::move(*LogWriter::open(fs_, clock_, folder_ + "-other")));  // as if it were killed
  auto again = LogWriter::open(fs_, clock_, folder_);
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(again->cut_bytes(), 0U);
  ASSERT_TRUE(again->append_deferred(RecordType::kPlan, measurement(6)).ok());
  ASSERT_TRUE(again->append(RecordType::kMeasurement, measurement(7)).ok());
  EXPECT_EQ(trials_on_disk(), (std::vector{1, 2, 3, 4, 6, 7}));
  std::filesystem::remove_all(folder_ + "-other");
}

TEST_F(Log, RefusesASecondWriter) {
  auto first = LogWriter::open(fs_, clock_, folder_);
  ASSERT_TRUE(first.ok());
  ASSERT_TRUE(first->append(RecordType::kHeader, Json::object()).ok());

  const auto second = LogWriter::open(fs_, clock_, folder_);

  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, Code::kUnavailable);
  ASSERT_TRUE(first->append(RecordType::kOutcome, Json::object()).ok());
  EXPECT_EQ(read_log(fs_, folder_)->size(), 2U);
}

TEST_F(Log, RefusesALogOfANewerVersion) {
  std::string bytes;
  const std::string newer = std::to_string(kSchemaVersion + 1);
  encode_frame(1, R"({"schema":)" + newer + "}", bytes);
  bytes += "torn";
  write_log(bytes);

  const auto writer = LogWriter::open(fs_, clock_, folder_);
  const auto reader = read_log(fs_, folder_);

  ASSERT_FALSE(writer.ok());
  EXPECT_EQ(writer.error().code, Code::kFailedPrecondition);
  EXPECT_NE(writer.error().message.find("schema " + newer), std::string::npos);
  ASSERT_FALSE(reader.ok());
  EXPECT_EQ(reader.error().code, Code::kFailedPrecondition);
  EXPECT_EQ(*fs_.read(path()), bytes);  // no byte changed
}

TEST_F(Log, DistinguishesMissingFromDamagedStudy) {
  EXPECT_EQ(read_log(fs_, folder_).error().code, Code::kNotFound);
  const auto broken = [&](std::uint16_t type, const std::string& payload) {
    std::string bytes;
    encode_frame(1, R"({"schema":1})", bytes);
    if (type == 1) bytes.clear();
    encode_frame(type, payload, bytes);
    write_log(bytes);
    const auto result = read_log(fs_, folder_);
    EXPECT_FALSE(result.ok());
    return result.ok() ? Code::kInternal : result.error().code;
  };
  EXPECT_EQ(broken(6, "no json"), Code::kDataLoss);
  EXPECT_EQ(broken(99, "{}"), Code::kDataLoss);
  EXPECT_EQ(broken(1, "[]"), Code::kDataLoss);
  EXPECT_EQ(broken(1, "{}"), Code::kDataLoss);
  EXPECT_EQ(broken(1, R"({"schema":"1"})"), Code::kDataLoss);
  EXPECT_EQ(broken(1, R"({"schema":0})"), Code::kDataLoss);
}

TEST_F(Log, ReportsLinkOrFifoAsLog) {
  sample_log(1);
  namespace fs = std::filesystem;
  fs::rename(folder_ + "/log", folder_ + "/elsewhere");
  fs::create_directory_symlink(folder_ + "/elsewhere", folder_ + "/log");
  const Error linked = read_log(real_file_system(), folder_).error();
  EXPECT_EQ(linked.code, Code::kDataLoss);
  EXPECT_EQ(linked.text(), folder_ + "/log: is a symbolic link; allowed here: a folder");
  fs::remove(folder_ + "/log");
  fs::create_directory(folder_ + "/log");
  ASSERT_EQ(::mkfifo((folder_ + "/log/000001.log").c_str(), 0600), 0);
  EXPECT_EQ(read_log(real_file_system(), folder_).error().where, folder_ + "/log/000001.log");
}

TEST_F(Log, RefusesLargeOrDeepRecords) {
  const auto refusal = [&](const std::string& payload) {
    std::string bytes;
    encode_frame(1, R"({"schema":1})", bytes);
    encode_frame(4, payload, bytes);
    write_log(bytes);
    const auto result = read_log(fs_, folder_);
    return result.ok() ? "" : result.error().message;
  };
  const auto list = [](std::size_t values) {
    std::string text = "[1";
    for (std::size_t i = 1; i < values; ++i) text += ",1";
    return text + "]";
  };
  const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };

  EXPECT_EQ(refusal(list(kMaxRecordValues - 1)), "");
  EXPECT_EQ(refusal(list(kMaxRecordValues)), "record 1 holds more than 500000 values");
  EXPECT_EQ(refusal(nested(kMaxRecordDepth)), "");
  EXPECT_EQ(refusal(nested(kMaxRecordDepth + 1)), "record 1 is nested deeper than 64 levels");
  EXPECT_EQ(refusal("[1,"), "record 1 is not JSON at byte 4");

  ASSERT_TRUE(fs_.remove(path()));
  auto log = LogWriter::open(fs_, clock_, folder_);
  ASSERT_TRUE(log->append(RecordType::kHeader, Json::object()));
  const auto appended = log->append(RecordType::kMeasurement, std::vector<int>(kMaxRecordValues, 1));
  ASSERT_FALSE(appended.ok());
  EXPECT_EQ(appended.error().code, Code::kInvalidArgument);
  EXPECT_EQ(appended.error().message, "a record holds more than 500000 values");
}

TEST_F(Log, KeepsRecordsBeforeAnyCut) {
  const std::string whole = sample_log(4);
  const auto all = *read_log(fs_, folder_);
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    write_log(whole.substr(0, size));

    const auto before = read_log(fs_, folder_);
    ASSERT_TRUE(before.ok()) << size << ": " << before.error().message;
    EXPECT_EQ(*fs_.size(path()), size) << "a reader must not cut";
    auto log = LogWriter::open(fs_, clock_, folder_);
    ASSERT_TRUE(log.ok()) << size << ": " << log.error().message;
    ASSERT_EQ(log->existing().size(), before->size());
    for (std::size_t i = 0; i < before->size(); ++i) ASSERT_EQ(log->existing()[i].body, all[i].body);
    const std::size_t kept = before->size();
    EXPECT_EQ(log->cut_bytes(), size - *fs_.size(path()));
    ASSERT_TRUE(log->append(RecordType::kHeader, Json::object()).ok());
    const auto after = read_log(fs_, folder_);
    ASSERT_TRUE(after.ok());
    EXPECT_EQ(after->size(), kept + 1);
  }
}

TEST_F(Log, DetectsEveryFlippedByte) {
  const std::string whole = sample_log(3);
  const auto all = *read_log(fs_, folder_);
  int lost = 0, cut = 0;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string bad = whole;
    bad[i] = static_cast<char>(bad[i] ^ 0x10);
    write_log(bad);
    auto log = LogWriter::open(fs_, clock_, folder_);
    if (!log) {
      EXPECT_EQ(log.error().code, Code::kDataLoss);
      EXPECT_EQ(*fs_.read(path()), bad) << "nothing is cut off a damaged log";
      ++lost;
      continue;
    }
    // Only the last mark may look like a torn tail. It is reported as cut, and every record is whole.
    EXPECT_GT(log->cut_bytes(), 0U) << "byte " << i;
    ASSERT_EQ(log->existing().size(), all.size());
    for (std::size_t r = 0; r < log->existing().size(); ++r) ASSERT_EQ(log->existing()[r].body, all[r].body);
    ++cut;
  }
  EXPECT_GT(lost, 100);
  EXPECT_GT(cut, 10);
}

// Every write of a small study fails once, as on a full disk. The error has a code, and later appends fail alike. On a
// healthy disk everything that was acknowledged is there.
TEST_F(Log, KeepsAcknowledgedRecordsAfterAnyFault) {
  for (const bool sticky : {true, false}) {
    for (const bool torn : {true, false}) {
      bool reached_end = false;
      for (std::int64_t at = 0; !reached_end; ++at) {
        std::filesystem::remove_all(folder_);
        FaultyFileSystem faulty(fs_, {.at = at, .sticky = sticky, .torn = torn});
        int acknowledged = 0, appended = 0;
        {
          auto log = LogWriter::open(faulty, clock_, folder_);
          reached_end = log.ok();
          bool failed = false;
          for (int i = 0; log.ok() && i < 6; ++i) {
            clock_.advance(0.4);
            Result<void> result = log->append(RecordType::kHeader, {{"n", i}});
            ++appended;
            if (i == 4 && result) {
              const auto synced = log->sync();
              if (!synced) reached_end = false;
              EXPECT_TRUE(synced.ok() || synced.error().code == Code::kResourceExhausted);
            }
            EXPECT_FALSE(failed && result.ok()) << "an append after a failed one succeeded";
            if (result) ++acknowledged;
            failed |= !result.ok();
          }
          if (!log) {
            EXPECT_EQ(log.error().code, Code::kResourceExhausted);
          }
          reached_end &= !failed;
        }

        auto healthy = LogWriter::open(fs_, clock_, folder_);
        ASSERT_TRUE(healthy.ok()) << healthy.error().message;
        const auto& records = healthy->existing();
        ASSERT_GE(static_cast<int>(records.size()), acknowledged) << "call " << at;
        ASSERT_LE(static_cast<int>(records.size()), appended);
        for (std::size_t i = 0; i < records.size(); ++i) EXPECT_EQ(records[i].body["n"], i);
        EXPECT_TRUE(healthy->append(RecordType::kHeader, Json::object()).ok());
        ASSERT_LT(at, 100);
      }
    }
  }
}

TEST_F(Log, FollowerReturnsEveryRecordOnce) {
  const std::string bytes = sample_log(40);
  const auto whole = *read_log(fs_, folder_);
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Rng rng(seed);
    write_log("");
    LogFollower follower(fs_, folder_);
    std::vector<Record> seen;
    for (std::size_t written = 0; written < bytes.size();) {
      written = std::min<std::size_t>(bytes.size(), written + rng.below(90));
      write_log(bytes.substr(0, written));
      const auto more = follower.read_new_records();
      ASSERT_TRUE(more.ok()) << more.error().text();
      seen.insert(seen.end(), more->begin(), more->end());
      EXPECT_EQ(seen.size(), read_log(fs_, folder_)->size()) << written;
    }
    ASSERT_EQ(seen.size(), whole.size());
    for (std::size_t i = 0; i < whole.size(); ++i) EXPECT_EQ(seen[i].body, whole[i].body);
    EXPECT_TRUE(follower.read_new_records()->empty());
  }
}

TEST_F(Log, FollowerReportsDamageAndReplacement) {
  const std::string bytes = sample_log(10);
  EXPECT_EQ(LogFollower(fs_, folder_ + "/none").read_new_records().error().code, Code::kNotFound);

  LogFollower follower(fs_, folder_);
  ASSERT_EQ(follower.read_new_records()->size(), 11U);
  write_log(bytes.substr(0, bytes.size() / 2));
  EXPECT_EQ(follower.read_new_records().error().code, Code::kDataLoss);

  // Damage in new bytes is reported with its position in the whole log, as for a first reader.
  write_log(bytes.substr(0, bytes.size() / 2));
  LogFollower half(fs_, folder_);
  const auto first = half.read_new_records();
  ASSERT_TRUE(first.ok());
  std::string damaged = bytes;
  damaged[bytes.size() * 3 / 4] = static_cast<char>(damaged[bytes.size() * 3 / 4] ^ 1);
  write_log(damaged);
  const auto damaged_read = half.read_new_records();
  ASSERT_FALSE(damaged_read.ok());
  EXPECT_EQ(damaged_read.error().message, read_log(fs_, folder_).error().message);
}

}  // namespace
}  // namespace lanista::store
