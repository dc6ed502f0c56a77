#include "lanista/base/memory_file_system.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace lanista {
namespace {

std::span<const std::byte> bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

TEST(MemoryFileSystem, KeepsWrittenAndDropsRemovedFiles) {
  MemoryFileSystem fs;
  {
    auto file = fs.open_append("a/log");
    ASSERT_TRUE(file);
    ASSERT_TRUE((*file)->append(bytes("one")));
    ASSERT_TRUE((*file)->append(bytes("two")));
  }
  EXPECT_EQ(*fs.read("a/log"), "onetwo");
  EXPECT_EQ(*fs.read("a/log", 4), "wo");
  EXPECT_EQ(*fs.read("a/log", 40), "");
  EXPECT_EQ(*fs.size("a/log"), 6U);
  ASSERT_TRUE(fs.truncate("a/log", 3));
  EXPECT_EQ(*fs.read("a/log"), "one");
  ASSERT_TRUE(fs.rename("a/log", "a/b"));
  EXPECT_EQ(fs.read("a/log").error().code, Code::kNotFound);
  ASSERT_TRUE(fs.remove("a/b"));
  EXPECT_FALSE(fs.exists("a/b"));
}

TEST(MemoryFileSystem, ListsNamesOfAFolderInOrder) {
  MemoryFileSystem fs;
  ASSERT_TRUE(fs.write_file("s/z", bytes("")));
  ASSERT_TRUE(fs.write_file("s/log/1", bytes("")));
  ASSERT_TRUE(fs.make_folder("s/empty"));

  EXPECT_EQ(*fs.list("s"), (std::vector<std::string>{"empty", "log", "z"}));
  EXPECT_TRUE(fs.list("s/empty")->empty());
  EXPECT_TRUE(fs.exists("s"));
  EXPECT_TRUE(fs.exists("s/log"));
  EXPECT_FALSE(fs.exists("t"));
  EXPECT_EQ(fs.list("t").error().code, Code::kNotFound);
}

TEST(MemoryFileSystem, LockIsExclusive) {
  MemoryFileSystem fs;
  auto first = fs.lock("s/lock");
  ASSERT_TRUE(first);
  EXPECT_EQ(fs.lock("s/lock").error().code, Code::kUnavailable);
  first = Error{};
  EXPECT_TRUE(fs.lock("s/lock"));
}

TEST(MemoryFileSystem, LosesOnlyUnsyncedBytes) {
  std::set<std::string> seen;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    MemoryFileSystem fs;
    {
      const auto file = *fs.open_append("/s/log");
      ASSERT_TRUE(file->append(bytes("synced")));
      ASSERT_TRUE(file->sync());
      ASSERT_TRUE(file->append(bytes(std::string(100, 'u'))));
    }
    EXPECT_EQ(fs.synced("/s/log"), "synced");
    fs.simulate_power_loss(PowerLoss::kBytes, Rng(seed));
    const std::string left = *fs.read("/s/log");
    ASSERT_TRUE(left.starts_with("synced"));
    ASSERT_LE(left.size(), 106U);
    seen.insert(left.substr(6));
  }
  EXPECT_TRUE(seen.contains(""));
  EXPECT_TRUE(seen.contains(std::string(100, 'u')));
  EXPECT_TRUE(std::any_of(seen.begin(), seen.end(), [](const std::string& s) {  // whole bytes after a gap
    return s.starts_with(std::string(16, '\0')) && s.ends_with("u");
  }));
  EXPECT_GT(seen.size(), 40U);
}

TEST(MemoryFileSystem, LosesNamesOfUnsyncedFolders) {
  MemoryFileSystem fs;
  ASSERT_TRUE(fs.make_folder("/s"));
  ASSERT_TRUE(fs.sync_folder("/"));
  ASSERT_TRUE(fs.write_file("/s/kept", bytes("1")));
  ASSERT_TRUE(fs.sync_folder("/s"));
  ASSERT_TRUE(fs.write_file("/s/new", bytes("2")));
  ASSERT_TRUE(fs.rename("/s/new", "/s/kept"));
  ASSERT_TRUE(fs.make_folder("/s/below"));
  ASSERT_TRUE(fs.write_file("/s/below/file", bytes("3")));
  ASSERT_TRUE(fs.sync_folder("/s/below"));  // without effect, since the name of the folder is not synced

  MemoryFileSystem other;
  other.put("/t/x", "x");
  ASSERT_TRUE(other.remove("/t/x"));
  other.simulate_power_loss(PowerLoss::kNames, Rng(1));
  EXPECT_TRUE(other.exists("/t/x")) << "a removal is a change of names, too";

  fs.simulate_power_loss(PowerLoss::kNames, Rng(1));

  EXPECT_EQ(*fs.read("/s/kept"), "1");
  EXPECT_FALSE(fs.exists("/s/new"));
  EXPECT_FALSE(fs.exists("/s/below"));
  EXPECT_FALSE(fs.exists("/s/below/file"));
}

TEST(MemoryFileSystem, CanUndoUnsyncedTruncation) {
  std::set<std::string> seen;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    MemoryFileSystem fs;
    fs.put("/f", "whole and torn");
    ASSERT_TRUE(fs.truncate("/f", 5));
    fs.simulate_power_loss(PowerLoss::kSampled, Rng(seed));
    seen.insert(*fs.read("/f"));
  }
  EXPECT_EQ(seen, (std::set<std::string>{"whole", "whole and torn"}));
}

TEST(DurableFolder, SurvivesPowerLossWithParents) {
  MemoryFileSystem fs;
  ASSERT_TRUE(make_durable_folder(fs, "/a/b/c"));
  ASSERT_TRUE(make_durable_folder(fs, "d/e"));
  fs.simulate_power_loss(PowerLoss::kNames, Rng(1));
  EXPECT_TRUE(fs.exists("/a/b/c"));
  EXPECT_TRUE(fs.exists("d/e"));

  // Another process made it, and died before a sync.
  ASSERT_TRUE(fs.make_folder("/x/y/z"));
  ASSERT_TRUE(make_durable_folder(fs, "/x/y/z"));
  fs.simulate_power_loss(PowerLoss::kNames, Rng(2));
  EXPECT_TRUE(fs.exists("/x/y/z"));
}

TEST(MemoryFileSystem, AtomicWriteSurvivesPowerLoss) {
  for (const PowerLoss what : {PowerLoss::kBytes, PowerLoss::kNames, PowerLoss::kSampled}) {
    MemoryFileSystem fs;
    fs.put("/f", "old");
    ASSERT_TRUE(write_atomically(fs, "/f", std::string_view("new")));
    fs.simulate_power_loss(what, Rng(3));
    EXPECT_EQ(*fs.read("/f"), "new");
  }
}

}  // namespace
}  // namespace lanista
