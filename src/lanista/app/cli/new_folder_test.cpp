#include "lanista/app/cli/new_folder.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace lanista::cli {
namespace {

namespace fs = std::filesystem;

class ANewFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "lanista_new_XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    parent_ = root_ + "/studies";
  }
  void TearDown() override { fs::remove_all(root_); }
  std::string root_, parent_;
};

TEST_F(ANewFolder, IsTakenByOneOfAllWhoBeginAtTheSameMoment) {
  constexpr int kThreads = 8, kEach = 25;
  std::mutex mutex;
  std::set<std::string> seen;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kEach; ++i) {
        auto taken = NewFolder::take(parent_, "digits");
        ASSERT_TRUE(taken.ok()) << taken.error().text();
        const std::string path = taken->path();
        taken->keep();
        const std::lock_guard lock(mutex);
        EXPECT_TRUE(seen.insert(path).second) << path << " was given to two";
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(kThreads * kEach));
  EXPECT_TRUE(seen.contains(parent_ + "/digits-200"));
}

TEST_F(ANewFolder, GoesAgainUnlessItIsKeptOrUsed) {
  { ASSERT_TRUE(NewFolder::take(parent_, "a").ok()); }
  EXPECT_FALSE(fs::exists(parent_));
  {
    auto used = NewFolder::take(parent_, "a");
    ASSERT_TRUE(used.ok());
    std::ofstream(used->path() + "/log") << "x";
  }
  EXPECT_TRUE(fs::exists(parent_ + "/a-1/log"));
  {
    auto kept = NewFolder::take(parent_, "a");
    ASSERT_TRUE(kept.ok());
    EXPECT_EQ(kept->path(), parent_ + "/a-2");
    kept->keep();
  }
  EXPECT_TRUE(fs::exists(parent_ + "/a-2"));
}

TEST_F(ANewFolder, PassesOverWhateverIsInTheWay) {
  fs::create_directories(parent_);
  std::ofstream(parent_ + "/a-1") << "a file";
  EXPECT_EQ(NewFolder::next(parent_, "a"), parent_ + "/a-2");
  auto taken = NewFolder::take(parent_, "a");
  ASSERT_TRUE(taken.ok());
  EXPECT_EQ(taken->path(), parent_ + "/a-2");

  std::ofstream(root_ + "/file") << "a file";
  EXPECT_FALSE(NewFolder::take(root_ + "/file", "a").ok());
}

}  // namespace
}  // namespace lanista::cli
