#include "lanista/app/cli/new_study_folder.h"

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

class NewStudyFolderTest : public ::testing::Test {
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

TEST_F(NewStudyFolderTest, IsCreatedByOneOfConcurrentProcesses) {
  constexpr int kThreads = 8, kEach = 25;
  std::mutex mutex;
  std::set<std::string> seen;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kEach; ++i) {
        auto created = NewStudyFolder::make(parent_, "digits");
        ASSERT_TRUE(created.ok()) << created.error().text();
        const std::string path = created->path();
        created->keep_folder();
        const std::lock_guard lock(mutex);
        EXPECT_TRUE(seen.insert(path).second) << path << " was returned twice";
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(kThreads * kEach));
  EXPECT_TRUE(seen.contains(parent_ + "/digits-200"));
}

TEST_F(NewStudyFolderTest, IsRemovedUnlessKeptOrUsed) {
  { ASSERT_TRUE(NewStudyFolder::make(parent_, "a").ok()); }
  EXPECT_FALSE(fs::exists(parent_));
  {
    auto used = NewStudyFolder::make(parent_, "a");
    ASSERT_TRUE(used.ok());
    std::ofstream(used->path() + "/log") << "x";
  }
  EXPECT_TRUE(fs::exists(parent_ + "/a-1/log"));
  {
    auto kept = NewStudyFolder::make(parent_, "a");
    ASSERT_TRUE(kept.ok());
    EXPECT_EQ(kept->path(), parent_ + "/a-2");
    kept->keep_folder();
  }
  EXPECT_TRUE(fs::exists(parent_ + "/a-2"));
}

TEST_F(NewStudyFolderTest, SkipsExistingNames) {
  fs::create_directories(parent_);
  std::ofstream(parent_ + "/a-1") << "a file";
  EXPECT_EQ(NewStudyFolder::next_path(parent_, "a"), parent_ + "/a-2");
  auto created = NewStudyFolder::make(parent_, "a");
  ASSERT_TRUE(created.ok());
  EXPECT_EQ(created->path(), parent_ + "/a-2");

  std::ofstream(root_ + "/file") << "a file";
  EXPECT_FALSE(NewStudyFolder::make(root_ + "/file", "a").ok());
}

}  // namespace
}  // namespace lanista::cli
