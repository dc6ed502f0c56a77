#include "lanista/io/studyfile/trust.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "lanista/base/sha256.h"

namespace lanista::study {
namespace {

namespace fs = std::filesystem;

/// A temporary folder with a list in it and code next to it.
class Trust : public ::testing::Test {
 protected:
  Trust() {
    std::string pattern = (fs::temp_directory_path() / "lanista-trust-XXXXXX").string();
    root_ = ::mkdtemp(pattern.data());
    list_ = root_ + "/config/lanista/trusted";
  }
  ~Trust() override { fs::remove_all(root_); }

  std::string write(const std::string& name, const std::string& text) const {
    const std::string path = root_ + "/" + name;
    fs::create_directories(fs::path(path).parent_path());
    std::ofstream(path) << text;
    return path;
  }
  static std::string read(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  std::string hash_of(const std::string& name) const {
    const auto code = read_code(root_ + "/" + name);
    EXPECT_TRUE(code.ok()) << code.error().text();
    return code.ok() ? code->hash : "";
  }
  static unsigned mode_of(const std::string& path) {
    struct stat info {};
    return ::stat(path.c_str(), &info) == 0 ? info.st_mode & 07777U : 0;
  }
  void add(const std::string& path) const {
    auto list = TrustList::open(list_);
    ASSERT_TRUE(list.ok()) << list.error().text();
    const auto added = list->add(*read_code(path));
    ASSERT_TRUE(added.ok()) << added.error().text();
  }
  /// Expects that the list is refused, with `message`.
  void expect_refused(const std::string& message) const {
    const auto list = TrustList::open(list_);
    ASSERT_FALSE(list.ok()) << message;
    EXPECT_EQ(list.error().code, Code::kFailedPrecondition);
    EXPECT_NE(list.error().text().find(message), std::string::npos) << list.error().text();
  }

  std::string root_, list_;
};

TEST_F(Trust, HashesAFileAsSha256sumDoes) {
  write("train.py", "abc");
  EXPECT_EQ(hash_of("train.py"), "file:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST_F(Trust, HashesNamesKindsAndBytesOfAFolder) {
  write("a/x.py", "1");
  write("a/sub/y.py", "2");
  const std::string first = hash_of("a");
  EXPECT_TRUE(first.starts_with("folder:"));
  EXPECT_EQ(hash_of("a"), first);
  fs::copy(root_ + "/a", root_ + "/b", fs::copy_options::recursive);
  EXPECT_EQ(hash_of("b"), first) << "the folder's own name does not count";
  write("b/sub/y.py", "3");
  EXPECT_NE(hash_of("b"), first);
  write("b/sub/y.py", "2");
  EXPECT_EQ(hash_of("b"), first);
  ::chmod((root_ + "/b/x.py").c_str(), 0755);
  EXPECT_NE(hash_of("b"), first) << "what can be executed counts";
  ::chmod((root_ + "/b/x.py").c_str(), 0644);
  fs::create_directory(root_ + "/b/empty");
  EXPECT_NE(hash_of("b"), first) << "a folder counts";
  fs::remove(root_ + "/b/empty");
  fs::rename(root_ + "/b/x.py", root_ + "/b/z.py");
  EXPECT_NE(hash_of("b"), first) << "a name counts";
}

TEST_F(Trust, GivesNoFileTheHashOfAFolder) {
  write("a/x", "1");
  const std::string list = "f " + sha256_hex("1") + " 1 x\n";
  EXPECT_EQ(hash_of("a"), "folder:" + sha256_hex(list));
  write("list", list);
  EXPECT_EQ(hash_of("list"), "file:" + sha256_hex(list));
}

TEST_F(Trust, RefusesLinksPipesAndTooMuch) {
  write("a/x", "1");
  fs::create_symlink("/etc/passwd", root_ + "/a/link");
  EXPECT_NE(read_code(root_ + "/a").error().text().find("a/link: is a symbolic link"), std::string::npos);
  fs::remove(root_ + "/a/link");
  ASSERT_EQ(::mkfifo((root_ + "/a/pipe").c_str(), 0600), 0);
  EXPECT_NE(read_code(root_ + "/a").error().text().find("a/pipe: is no file and no folder"), std::string::npos);
  EXPECT_EQ(read_code(root_ + "/a/pipe").error().code, Code::kInvalidArgument);
  fs::remove(root_ + "/a/pipe");
  EXPECT_EQ(read_code("/dev/zero").error().code, Code::kInvalidArgument);
  EXPECT_EQ(read_code(root_ + "/none").error().code, Code::kNotFound);
  EXPECT_EQ(read_code("").error().code, Code::kInvalidArgument);
  write("a/y", "22");
  EXPECT_TRUE(read_code(root_ + "/a", {.bytes = 3, .entries = 2, .depth = 1}).ok());
  EXPECT_EQ(read_code(root_ + "/a", {.bytes = 2}).error().code, Code::kResourceExhausted);
  EXPECT_EQ(read_code(root_ + "/a", {.entries = 1}).error().code, Code::kResourceExhausted);
  write("a/sub/z", "");
  EXPECT_EQ(read_code(root_ + "/a", {.depth = 1}).error().code, Code::kResourceExhausted);
}

TEST_F(Trust, AllowsOnlyListOrOption) {
  const std::string path = write("train.py", "print(1)");
  const auto none = TrustList::open(list_);
  ASSERT_TRUE(none.ok()) << none.error().text();
  EXPECT_FALSE(fs::exists(list_)) << "to read makes no list";
  const auto refused = trusted_code("trial.command", path, false, *none);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kFailedPrecondition);
  const std::string text = refused.error().text();
  for (const std::string& part : {std::string("trial.command: would run the file "), path, hash_of("train.py"),
                                  std::string("--trust"), std::string("lanista trust add PATH")}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in: " << text;
  }
  EXPECT_TRUE(trusted_code("trial.command", path, true, *none).ok());
  add(path);
  EXPECT_TRUE(trusted_code("trial.command", path, false, *TrustList::open(list_)).ok());
  write("train.py", "print(2)");
  EXPECT_FALSE(trusted_code("trial.command", path, false, *TrustList::open(list_)).ok()) << "one byte is another one";
}

// A check of the path would leave time to replace the file between the check and the start.
TEST_F(Trust, GivesTheBytesThatWereChecked) {
  const std::string path = write("train.py", "print(1)");
  add(path);
  const auto code = trusted_code("trial.command", path, false, *TrustList::open(list_));
  ASSERT_TRUE(code.ok());
  write("train.py", "steal()");
  ASSERT_EQ(code->entries.size(), 1U);
  EXPECT_EQ(code->entries[0].bytes, "print(1)");
  EXPECT_EQ(hash_of_code(*code), code->hash);
}

TEST_F(Trust, KeepsAPrivateList) {
  const std::string a = write("a.py", "a"), b = write("b.py", "b");
  add(a);
  add(b);
  add(a);
  EXPECT_EQ(mode_of(list_), 0600U);
  EXPECT_EQ(mode_of(root_ + "/config/lanista"), 0700U);
  auto list = TrustList::open(list_);
  ASSERT_TRUE(list.ok());
  EXPECT_EQ(list->entries(), (std::vector<TrustEntry>{{hash_of("a.py"), a}, {hash_of("b.py"), b}}));
  const auto by_hash = list->remove(hash_of("a.py"));
  ASSERT_TRUE(by_hash.ok());
  EXPECT_EQ(by_hash->size(), 1U);
  ASSERT_TRUE(list->remove(b).ok());
  EXPECT_EQ(list->remove(b).error().code, Code::kNotFound);
  EXPECT_TRUE(TrustList::open(list_)->entries().empty());
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& each : fs::directory_iterator(root_ + "/config/lanista")) ++files;
  EXPECT_EQ(files, 1U) << "no temporary file stays";
}

TEST_F(Trust, KeepsEveryEntryOfProcessesThatAddAtATime) {
  std::vector<std::string> paths;
  for (int i = 0; i < 8; ++i) paths.push_back(write("p" + std::to_string(i), std::to_string(i)));
  {
    std::vector<std::jthread> all;
    for (const std::string& path : paths) {
      all.emplace_back([&, path] {
        if (auto list = TrustList::open(list_)) static_cast<void>(list->add(*read_code(path)));
      });
    }
  }
  EXPECT_EQ(TrustList::open(list_)->entries().size(), paths.size());
}

TEST_F(Trust, WritesAPathWithALineBreakIntoItsOwnLine) {
  const std::string forged = "x\nfile:" + std::string(64, '0');
  const std::string path = write(forged, "1");
  add(path);
  const auto list = TrustList::open(list_);
  ASSERT_TRUE(list.ok());
  EXPECT_EQ(list->entries().size(), 1U);
  EXPECT_FALSE(list->contains("file:" + std::string(64, '0')));
}

TEST_F(Trust, RefusesAListThatOthersMayWrite) {
  add(write("a.py", "a"));
  for (const mode_t mode : {0620U, 0602U, 0666U}) {
    ::chmod(list_.c_str(), mode);
    expect_refused("so other users may write it");
  }
  ::chmod(list_.c_str(), 0600);
  ::chmod((root_ + "/config/lanista").c_str(), 0770);
  expect_refused("config/lanista: has mode 0770");
  ::chmod((root_ + "/config/lanista").c_str(), 0700);
  EXPECT_TRUE(TrustList::open(list_).ok());
}

TEST_F(Trust, RefusesAListThatIsALinkOrNoFile) {
  add(write("a.py", "a"));
  fs::rename(list_, root_ + "/elsewhere");
  fs::create_symlink(root_ + "/elsewhere", list_);
  expect_refused("trusted: is a symbolic link");
  fs::remove(list_);
  ASSERT_EQ(::mkfifo(list_.c_str(), 0600), 0);
  expect_refused("trusted: is no regular file");
  fs::remove(list_);
  fs::rename(root_ + "/elsewhere", list_);
  fs::rename(root_ + "/config/lanista", root_ + "/moved");
  fs::create_directory_symlink(root_ + "/moved", root_ + "/config/lanista");
  expect_refused("config/lanista: is a symbolic link");
}

TEST_F(Trust, AddsNothingThroughALink) {
  const std::string mine = write("mine", "mine");
  const std::string code = write("a.py", "a");
  fs::create_directories(root_ + "/config/lanista");
  ::chmod((root_ + "/config/lanista").c_str(), 0700);
  auto list = TrustList::open(list_);
  ASSERT_TRUE(list.ok());
  fs::create_symlink(mine, list_);
  EXPECT_FALSE(list->add(*read_code(code)).ok());
  EXPECT_EQ(read(mine), "mine");
}

TEST_F(Trust, RefusesAListOfAnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file to another user";
  add(write("a.py", "a"));
  ASSERT_EQ(::chown(list_.c_str(), 65534, 65534), 0);
  expect_refused("belongs to user 65534, not to 0");
}

TEST_F(Trust, RefusesALineThatIsNoEntry) {
  add(write("a.py", "a"));
  std::ofstream(list_, std::ios::app) << "file:ABC  # x\n";
  const auto list = TrustList::open(list_);
  ASSERT_FALSE(list.ok());
  EXPECT_EQ(list.error().code, Code::kDataLoss);
  EXPECT_NE(list.error().text().find("line 3 is 'file:ABC  # x'"), std::string::npos) << list.error().text();
}

TEST(TrustListPath, FollowsTheEnvironment) {
  EXPECT_EQ(*trust_list_path("/c", "/h"), "/c/lanista/trusted");
  EXPECT_EQ(*trust_list_path(nullptr, "/h"), "/h/.config/lanista/trusted");
  EXPECT_EQ(*trust_list_path("", "/h"), "/h/.config/lanista/trusted");
  EXPECT_EQ(*trust_list_path("relative", "/h"), "/h/.config/lanista/trusted");
  EXPECT_FALSE(trust_list_path(nullptr, nullptr).ok());
  EXPECT_FALSE(trust_list_path("x", "y").ok());
}

}  // namespace
}  // namespace lanista::study
