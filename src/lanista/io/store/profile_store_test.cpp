#include "lanista/io/store/profile_store.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "lanista/base/check.h"
#include "lanista/base/digest.h"
#include "lanista/base/frame.h"
#include "lanista/base/memory_file_system.h"
#include "lanista/base/rng.h"
#include "support/base/faulty_file_system.h"
#include "support/base/temporary_folder.h"

namespace lanista::store {
namespace {

study::Profile random_row(Rng& rng) {
  const auto seconds = [&] { return rng.uniform(0, 1); };
  study::Profile row{.shape = {.program = Digest{rng.below(9), rng.below(9)}.hex(),
                               .structure = Digest{rng.below(9), 1}.hex(),
                               .optimizer = "adam",
                               .precision = "float32",
                               .batch = rng.between(1, 512),
                               .shards = rng.between(1, 4),
                               .parameters = 1e6 * seconds(),
                               .operators = 1 + 20 * seconds(),
                               .widest = 1e4 * seconds(),
                               .flops = 1e9 * seconds(),
                               .bytes = 1e7 * seconds()},
                     .device = "a CPU, a class",
                     .width = rng.between(1, 8),
                     .lanes = rng.between(1, 16),
                     .residents = rng.between(1, 4),
                     .spans = rng.between(1, 1000)};
  row.step = seconds();
  row.evaluation_row = seconds();
  row.between = seconds();
  row.set_up = seconds();
  row.save = seconds();
  row.restore = seconds();
  row.bytes = rng.between(0, std::int64_t{1} << 40);
  row.epochs_to_best = rng.between(0, 100);
  return row;
}

StudyProfiles random_profiles(std::uint64_t number, std::size_t rows) {
  Rng rng = Rng(5).split(number);
  StudyProfiles out{profile_file_name(1000.0 * static_cast<double>(number), std::to_string(number)),
                    "study " + std::to_string(number),
                    1000.0 * static_cast<double>(number),
                    {}};
  for (std::size_t i = 0; i < rows; ++i) out.rows.push_back(random_row(rng));
  return out;
}

TEST(ProfileStore, RoundTripOldestFirst) {
  MemoryFileSystem fs;
  ProfileStore store(fs, "times");
  ASSERT_TRUE(store.read().ok());
  EXPECT_TRUE(store.read()->studies.empty());  // the folder does not exist
  for (const std::uint64_t number : {3U, 1U, 2U}) ASSERT_TRUE(store.put(random_profiles(number, number * 4)).ok());
  ASSERT_TRUE(store.put(random_profiles(2, 5)).ok());  // replaces the file with fewer rows

  const auto content = store.read();
  ASSERT_EQ(content->studies.size(), 3U);
  EXPECT_TRUE(content->skipped.empty());
  for (const std::uint64_t number : {1U, 2U, 3U}) {
    const StudyProfiles wanted = random_profiles(number, number == 2 ? 5 : number * 4);
    const StudyProfiles& seen = content->studies[number - 1];
    EXPECT_EQ(seen.name, wanted.name);
    EXPECT_EQ(seen.study, wanted.study);
    EXPECT_EQ(seen.began, wanted.began);
    EXPECT_EQ(seen.rows, wanted.rows);
  }
  ASSERT_TRUE(store.remove(random_profiles(1, 0).name).ok());
  EXPECT_EQ(store.remove(random_profiles(1, 0).name).error().code, Code::kNotFound);
  EXPECT_EQ(store.remove("../secret").error().code, Code::kNotFound);
  EXPECT_EQ(store.put({"../secret", "", 0, {}}).error().code, Code::kInvalidArgument);
  EXPECT_EQ(store.read()->studies.size(), 2U);
}

// Cut anywhere, with one wrong bit anywhere, or of a newer build: the file is reported, the others count.
TEST(ProfileStore, SkipDamagedFiles) {
  MemoryFileSystem fs;
  ProfileStore store(fs, "times");
  ASSERT_TRUE(store.put(random_profiles(1, 3)).ok());
  ASSERT_TRUE(store.put(random_profiles(2, 3)).ok());
  const std::string file = "times/" + random_profiles(1, 0).name + ".profile";
  const std::string whole = *fs.read(file);
  Rng rng(8);
  const auto expect_passed_over = [&](const std::string& bytes, const std::string& what) {
    ASSERT_TRUE(write_atomically(fs, file, std::as_bytes(std::span(bytes))).ok());
    const auto content = store.read();
    ASSERT_TRUE(content.ok()) << what;
    ASSERT_EQ(content->studies.size(), 1U) << what;
    EXPECT_EQ(content->studies.front().study, "study 2");
    ASSERT_EQ(content->skipped.size(), 1U) << what;
    EXPECT_EQ(content->skipped.front().where, file);
  };
  for (int i = 0; i < 60; ++i) {
    const std::size_t at = rng.below(whole.size());
    expect_passed_over(whole.substr(0, at), "cut at " + std::to_string(at));
    std::string wrong = whole;
    wrong[at] = static_cast<char>(wrong[at] ^ (1 << rng.below(8)));
    expect_passed_over(wrong, "a bit at " + std::to_string(at));
  }
  std::string newer;
  StudyProfiles empty = random_profiles(1, 0);
  ASSERT_TRUE(store.put(empty).ok());
  newer = *fs.read(file);
  const std::size_t version = newer.find("\"version\":1");
  ASSERT_NE(version, std::string::npos);
  // The checksum is right.
  std::string payload = newer.substr(8, newer.size() - 12), framed;
  payload.replace(payload.find("\"version\":1"), 11, "\"version\":2");
  encode_frame(1, payload, framed);
  expect_passed_over(framed, "newer");
  ASSERT_FALSE(store.read()->skipped.empty());
  EXPECT_NE(store.read()->skipped.front().message.find("version 2"), std::string::npos);
}

TEST(ProfileStore, RemoveOnlyFilesOfTheirOwnNames) {
  MemoryFileSystem fs;
  ProfileStore store(fs, "times");
  const std::string made = random_profiles(1, 0).name;
  ASSERT_TRUE(store.put(random_profiles(1, 1)).ok());
  const std::vector<std::string> theirs{"mine.profile", "gtk.profile", "notes.txt", made + ".profile.old.tmp",
                                        made + ".profile.tmp"};
  for (const std::string& name : theirs)
    ASSERT_TRUE(fs.write_file("times/" + name, std::as_bytes(std::span("x"))).ok());
  const std::string damaged = "00000000007-0123456789ab.profile";
  ASSERT_TRUE(fs.write_file("times/" + damaged, std::as_bytes(std::span("x"))).ok());
  ASSERT_TRUE(fs.write_file("times/" + made + ".profile.tmp-0123456789abcdef", {}).ok());
  ASSERT_TRUE(fs.write_file("times/" + made + ".profile." + std::string(32, 'a') + ".tmp", {}).ok());

  ASSERT_TRUE(store.put(random_profiles(1, 2)).ok());  // removes what killed writers left
  EXPECT_EQ(fs.list("times")->size(), theirs.size() + 2);
  EXPECT_EQ(*store.remove_all(), 2U);

  auto left = theirs;
  std::ranges::sort(left);
  EXPECT_EQ(*fs.list("times"), left);
}

TEST(ProfileStore, KeepAtMostMaxStudies) {
  MemoryFileSystem fs;
  ProfileStore store(fs, "times");
  for (const char* name : {"aaa.profile", "00000000001-notes.profile"}) {
    ASSERT_TRUE(fs.write_file(std::string("times/") + name, {}).ok());
  }
  for (std::uint64_t number = 1; number <= ProfileStore::kMaxStudies + 1; ++number) {
    ASSERT_TRUE(store.put(random_profiles(number, 0)).ok());
  }
  EXPECT_FALSE(fs.exists("times/" + random_profiles(1, 0).name + ".profile"));
  EXPECT_TRUE(fs.exists("times/" + random_profiles(2, 0).name + ".profile"));
  EXPECT_TRUE(fs.exists("times/aaa.profile"));
  EXPECT_TRUE(fs.exists("times/00000000001-notes.profile"));
}

TEST(ProfileStore, ReturnDiskErrorsAndKeepOldFile) {
  MemoryFileSystem disk;
  ASSERT_TRUE(ProfileStore(disk, "times").put(random_profiles(1, 2)).ok());
  for (std::int64_t at = 0;; ++at) {
    FaultyFileSystem faulty(disk, {.at = at, .sticky = true});
    const auto put = ProfileStore(faulty, "times").put(random_profiles(1, 9));
    const auto content = ProfileStore(disk, "times").read();
    ASSERT_EQ(content->studies.size(), 1U);
    EXPECT_TRUE(content->skipped.empty());
    const std::size_t rows = content->studies.front().rows.size();
    EXPECT_TRUE(rows == 2 || rows == 9) << rows;
    if (put.ok()) {
      EXPECT_EQ(rows, 9U);
      break;
    }
    ASSERT_LT(at, 50);
  }
}

TEST(ProfileStore, KeepTheNewestStudies) {
  MemoryFileSystem fs;
  ProfileStore store(fs, "times");
  const auto put = [&](std::uint64_t number) { ASSERT_TRUE(store.put(random_profiles(number, 1)).ok()); };
  put(1);
  const std::string bytes = *fs.read("times/" + random_profiles(1, 0).name + ".profile");
  for (std::uint64_t number = 2; number <= ProfileStore::kMaxStudies; ++number) {
    const std::string file = "times/" + random_profiles(number, 0).name + ".profile";
    ASSERT_TRUE(write_atomically(fs, file, std::as_bytes(std::span(bytes))).ok());
  }
  for (std::uint64_t number = 1; number <= 3; ++number) put(ProfileStore::kMaxStudies + number);
  const auto content = store.read();
  ASSERT_EQ(content->studies.size(), ProfileStore::kMaxStudies);
  EXPECT_EQ(content->studies.front().name, random_profiles(4, 0).name);
  EXPECT_EQ(content->studies.back().study, "study " + std::to_string(ProfileStore::kMaxStudies + 3));
}

TEST(ProfilesName, SortsByTime) {
  EXPECT_LT(profile_file_name(9, "b"), profile_file_name(10, "a"));
  EXPECT_NE(profile_file_name(9, "a"), profile_file_name(9, "b"));
  EXPECT_EQ(profile_file_name(-1e300, "a").size(), profile_file_name(1e300, "a").size());
}

/// Writes studies of its own and a common one until it is killed; reports each study that it wrote.
[[noreturn]] void write_until_killed(const std::string& folder, std::uint64_t seed, int report_pipe) {
  ProfileStore store(real_file_system(), folder);
  for (std::uint64_t k = 0;; ++k) {
    const std::uint64_t number = 1 + seed * 8 + k % 8;
    const auto own = store.put(random_profiles(number, 1 + k % 40));
    const auto common = store.put(random_profiles(900'000, 1 + (k + seed) % 40));
    // An unfinished file of the common study may be removed by another writer; a file of an own study may not.
    const bool fine = own.ok() && (common.ok() || common.error().code == Code::kNotFound);
    const std::uint64_t word = fine ? number : 0;
    if (::write(report_pipe, &word, sizeof word) != static_cast<ssize_t>(sizeof word)) ::_exit(1);
  }
}

TEST(ProfileStore, SurviveKilledWriters) {
  const TemporaryFolder folder("times");
  constexpr int kWriters = 4, kLives = 16;
  int report_pipe[2];
  ASSERT_EQ(::pipe(report_pipe), 0);
  std::vector<pid_t> writers(kWriters, 0);
  std::uint64_t lives = 0;
  const auto begin = [&](pid_t& writer) {
    const std::uint64_t seed = lives++;
    writer = ::fork();
    LANISTA_CHECK(writer >= 0, "no process");  // kill(-1) would end every process
    if (writer == 0) write_until_killed(folder.path(), seed, report_pipe[1]);
  };
  for (pid_t& writer : writers) begin(writer);
  Rng rng(21);
  const ProfileStore store(real_file_system(), folder.path());
  while (lives < kLives) {
    std::this_thread::sleep_for(std::chrono::milliseconds(rng.between(1, 25)));
    const auto during = store.read();
    ASSERT_TRUE(during.ok());
    EXPECT_TRUE(during->skipped.empty()) << during->skipped.front().text();
    pid_t& writer = writers[rng.below(kWriters)];
    ::kill(writer, SIGKILL);
    ::waitpid(writer, nullptr, 0);
    begin(writer);
  }
  for (const pid_t writer : writers) {
    ::kill(writer, SIGKILL);
    ::waitpid(writer, nullptr, 0);
  }
  ::close(report_pipe[1]);
  std::set<std::string> acknowledged;
  for (std::uint64_t word = 0; ::read(report_pipe[0], &word, sizeof word) == static_cast<ssize_t>(sizeof word);) {
    ASSERT_NE(word, 0U) << "a writer was refused";
    acknowledged.insert("study " + std::to_string(word));
  }
  ::close(report_pipe[0]);

  const auto content = store.read();
  EXPECT_TRUE(content->skipped.empty());
  std::set<std::string> there;
  for (const StudyProfiles& each : content->studies) {
    there.insert(each.study);
    EXPECT_FALSE(each.rows.empty());
  }
  EXPECT_GT(acknowledged.size(), 8U);
  for (const std::string& study : acknowledged) EXPECT_TRUE(there.contains(study)) << study;
}

}  // namespace
}  // namespace lanista::store
