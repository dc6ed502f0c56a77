#include "lanista/base/memory_file_system.h"

#include <gtest/gtest.h>

namespace lanista {
namespace {

std::span<const std::byte> bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

TEST(MemoryFileSystem, KeepsWhatIsWrittenAndForgetsWhatIsRemoved) {
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

TEST(MemoryFileSystem, GivesALockToOneAtATime) {
  MemoryFileSystem fs;
  auto first = fs.lock("s/lock");
  ASSERT_TRUE(first);
  EXPECT_EQ(fs.lock("s/lock").error().code, Code::kUnavailable);
  first = Error{};
  EXPECT_TRUE(fs.lock("s/lock"));
}

}  // namespace
}  // namespace lanista
