#include "lanista/base/file_system.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>

#include <gtest/gtest.h>

#include "support/base/faulty_file_system.h"
#include "support/base/temporary_folder.h"

namespace lanista {
namespace {

std::span<const std::byte> bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

class Files : public testing::Test {
 protected:
  std::string at(const std::string& name) const { return root_ + "/" + name; }

  FileSystem& fs_ = real_file_system();
  TemporaryFolder folder_{"files"};
  std::string root_ = folder_.path();
};

using RealFiles = Files;
using FaultyFiles = Files;
using AtomicWrite = Files;

TEST_F(RealFiles, AppendsAcrossOpenings) {
  {
    auto file = fs_.open_append(at("log"));
    ASSERT_TRUE(file);
    ASSERT_TRUE((*file)->append(bytes("one")));
    ASSERT_TRUE((*file)->sync());
  }
  auto file = fs_.open_append(at("log"));
  ASSERT_TRUE((*file)->append(bytes(" two")));
  EXPECT_EQ(*fs_.read(at("log")), "one two");
  EXPECT_EQ(*fs_.read(at("log"), 4), "two");
  EXPECT_EQ(*fs_.read(at("log"), 100), "");
  EXPECT_EQ(*fs_.size(at("log")), 7u);
}

TEST_F(RealFiles, RefusesPipesDevicesAndEndlessFiles) {
  ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0600), 0);
  ASSERT_TRUE(fs_.write_file(at("vast"), bytes("x")));
  std::filesystem::resize_file(at("vast"), std::uintmax_t{1} << 40);  // a hole

  EXPECT_EQ(fs_.read(at("pipe")).error().code, Code::kInvalidArgument);
  EXPECT_EQ(fs_.read("/dev/zero").error().code, Code::kInvalidArgument);
  EXPECT_EQ(fs_.read(at("vast")).error().code, Code::kResourceExhausted);
  EXPECT_EQ(fs_.read(root_).error().code, Code::kIo);
}

TEST_F(RealFiles, WritesTruncatesRenamesAndRemoves) {
  const std::string big(200000, 'x');
  ASSERT_TRUE(fs_.write_file(at("a"), bytes(big)));
  EXPECT_EQ(*fs_.read(at("a")), big);
  EXPECT_EQ(fs_.write_file(at("a"), bytes("short")).error().code, Code::kAlreadyExists);
  EXPECT_EQ(*fs_.read(at("a")), big);
  ASSERT_TRUE(write_atomically(fs_, at("a"), bytes("short")));
  EXPECT_EQ(*fs_.read(at("a")), "short");
  ASSERT_TRUE(fs_.truncate(at("a"), 2));
  EXPECT_EQ(*fs_.read(at("a")), "sh");
  ASSERT_TRUE(fs_.rename(at("a"), at("b")));
  EXPECT_FALSE(fs_.exists(at("a")));
  EXPECT_TRUE(fs_.exists(at("b")));
  ASSERT_TRUE(fs_.sync_folder(root_));
  ASSERT_TRUE(fs_.remove(at("b")));
  EXPECT_TRUE(fs_.remove(at("b")));
}

TEST_F(RealFiles, MakesFoldersWithParentsAndListsSorted) {
  ASSERT_TRUE(fs_.make_folder(at("x/y/z/")));
  EXPECT_TRUE(fs_.make_folder(at("x/y/z")));
  ASSERT_TRUE(fs_.write_file(at("x/b"), {}));
  ASSERT_TRUE(fs_.write_file(at("x/B"), {}));
  EXPECT_EQ(*fs_.list(at("x")), (std::vector<std::string>{"B", "b", "y"}));
  const auto in_the_way = fs_.make_folder(at("x/b/c"));
  EXPECT_EQ(in_the_way.error().code, Code::kAlreadyExists);
  EXPECT_EQ(in_the_way.error().where, at("x/b"));
}

TEST_F(RealFiles, ErrorsHaveCodePathAndSystemText) {
  const std::string gone = at("gone/file");
  const std::vector<Error> errors{fs_.read(gone).error(),           fs_.open_append(gone).error(),
                                  fs_.write_file(gone, {}).error(), fs_.rename(gone, at("b")).error(),
                                  fs_.truncate(gone, 0).error(),    fs_.list(gone).error(),
                                  fs_.size(gone).error(),           fs_.lock(gone).error(),
                                  fs_.sync_folder(gone).error()};
  for (const Error& e : errors) {
    EXPECT_EQ(e.code, Code::kNotFound) << e.text();
    EXPECT_EQ(e.where, gone);
    EXPECT_TRUE(e.message.ends_with("No such file or directory")) << e.message;
  }
  EXPECT_EQ(fs_.read(root_).error().code, Code::kIo);  // a folder
}

TEST_F(RealFiles, ReportsAFullDiskAsResourceExhausted) {
  // A limit on the size of files acts as a full disk. It is set in a child, so that it affects no other process.
  const pid_t child = fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{100, 100};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    auto full = fs_.open_append(at("full"));
    const auto result = (*full)->append(bytes(std::string(101, 'x')));
    _exit(!result && result.error().code == Code::kResourceExhausted && result.error().where == at("full") ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST_F(RealFiles, RefusesToWriteSpecialFiles) {
  ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0600), 0);
  ASSERT_TRUE(fs_.write_file(at("file"), bytes("mine")));
  ASSERT_EQ(::symlink("file", at("link").c_str()), 0);
  for (const std::string& path : {std::string("/dev/full"), at("pipe"), at("link")}) {
    EXPECT_EQ(fs_.open_append(path).error().code, Code::kDataLoss) << path;
    EXPECT_EQ(fs_.truncate(path, 0).error().code, Code::kDataLoss) << path;
    EXPECT_EQ(fs_.lock(path).error().code, Code::kDataLoss) << path;
    EXPECT_EQ(fs_.write_file(path, {}).error().code, Code::kAlreadyExists) << path;
  }
  EXPECT_EQ(write_atomically(fs_, at("pipe"), "x").error().code, Code::kDataLoss);
  EXPECT_EQ(*fs_.read(at("file")), "mine");
  EXPECT_EQ(fs_.list(root_)->size(), 3U);
}

TEST_F(RealFiles, LockIsExclusiveAndReleasedOnDestruction) {
  {
    const auto lock = fs_.lock(at("lock"));
    ASSERT_TRUE(lock);
    EXPECT_EQ(fs_.lock(at("lock")).error().code, Code::kUnavailable);
  }
  EXPECT_TRUE(fs_.lock(at("lock")));
}

TEST_F(RealFiles, LockExcludesProcessesUntilOwnerExits) {
  const auto try_in_child = [&] {
    const pid_t child = fork();
    if (child == 0) _exit(fs_.lock(at("lock")) ? 0 : 1);
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  };
  {
    const auto lock = fs_.lock(at("lock"));
    ASSERT_TRUE(lock);
    EXPECT_EQ(try_in_child(), 1);
  }
  EXPECT_EQ(try_in_child(), 0);  // the child ends without freeing it
  EXPECT_TRUE(fs_.lock(at("lock")));
}

TEST_F(AtomicWrite, ReplacesTheWholeFile) {
  ASSERT_TRUE(write_atomically(fs_, at("a"), "old"));
  ASSERT_TRUE(write_atomically(fs_, at("a"), std::string_view("new text")));
  EXPECT_EQ(*fs_.read(at("a")), "new text");
  EXPECT_EQ(*fs_.list(root_), std::vector<std::string>{"a"});
}

TEST_F(AtomicWrite, ReaderSeesOldOrNewAfterAnyFault) {
  FaultyFileSystem counter(fs_, {});
  ASSERT_TRUE(write_atomically(counter, at("count"), "x"));
  for (const bool sticky : {false, true}) {
    for (std::int64_t n = 0; n < counter.calls(); ++n) {
      ASSERT_TRUE(write_atomically(fs_, at("a"), bytes("old")));
      FaultyFileSystem faulty(fs_, {.at = n, .sticky = sticky});
      const auto result = write_atomically(faulty, at("a"), "new text");
      ASSERT_FALSE(result) << n;
      EXPECT_EQ(result.error().code, Code::kResourceExhausted);
      const std::string now = *fs_.read(at("a"));
      EXPECT_TRUE(now == "old" || now == "new text") << now;
      const auto names = *fs_.list(root_);
      EXPECT_TRUE(sticky || std::ranges::none_of(names, is_temporary_name));
    }
  }
}

// Makes one of each mutating call in a fixed order; returns which succeeded.
std::vector<bool> one_of_each(FileSystem& fs, const std::string& root) {
  std::vector<bool> ok;
  ok.push_back(fs.make_folder(root + "/f").ok());
  auto file = fs.open_append(root + "/log");
  ok.push_back(file.ok());
  if (file) {
    ok.push_back((*file)->append(bytes("12345678")).ok());
    ok.push_back((*file)->sync().ok());
  }
  ok.push_back(fs.write_file(root + "/w", bytes("abcdefgh")).ok());
  ok.push_back(fs.truncate(root + "/w", 6).ok());
  ok.push_back(fs.rename(root + "/w", root + "/v").ok());
  ok.push_back(fs.sync_folder(root).ok());
  ok.push_back(fs.lock(root + "/lock").ok());
  ok.push_back(fs.remove(root + "/v").ok());
  return ok;
}

TEST_F(FaultyFiles, CountsMutatingCallsWithoutFault) {
  FaultyFileSystem faulty(fs_, {});
  EXPECT_EQ(one_of_each(faulty, root_), std::vector<bool>(10, true));
  EXPECT_EQ(faulty.calls(), 10);
  EXPECT_EQ(*faulty.read(at("log"), 4), "5678");
  EXPECT_EQ(*faulty.size(at("log")), 8u);
  EXPECT_TRUE(faulty.exists(at("f")));
  EXPECT_EQ(faulty.list(root_)->size(), 3u);
  EXPECT_EQ(faulty.calls(), 10);
}

TEST_F(FaultyFiles, FailsConfiguredCall) {
  for (const std::int64_t n : {0, 2, 3, 7, 8, 9}) {  // after the other ones, later calls cannot continue
    const std::string root = at(std::to_string(n));
    ASSERT_TRUE(fs_.make_folder(root));
    FaultyFileSystem once(fs_, {.at = n, .sticky = false});
    std::vector<bool> want(10, true);
    want[static_cast<std::size_t>(n)] = false;
    EXPECT_EQ(one_of_each(once, root), want) << n;
  }
  FaultyFileSystem forever(fs_, {.at = 5, .sticky = true});
  ASSERT_TRUE(fs_.make_folder(at("sticky")));
  const std::vector<bool> want{true, true, true, true, true, false, false, false, false, false};
  EXPECT_EQ(one_of_each(forever, at("sticky")), want);
}

TEST_F(FaultyFiles, TornWritesLeaveAPrefix) {
  for (const bool torn : {true, false}) {
    FaultyFileSystem faulty(fs_, {.at = 1, .sticky = true, .torn = torn});
    const std::string name = at(torn ? "torn" : "clean");
    auto file = faulty.open_append(name);
    ASSERT_TRUE(file);
    const auto failed = (*file)->append(bytes("12345678"));
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().where, name);
    EXPECT_EQ(*fs_.read(name), torn ? "1234" : "");
    EXPECT_FALSE(faulty.write_file(name + "2", bytes("abcd")));
    EXPECT_EQ(fs_.exists(name + "2"), torn);
    EXPECT_EQ(fs_.read(name + "2").ok() ? *fs_.read(name + "2") : "", torn ? "ab" : "");
  }
}

TEST_F(FaultyFiles, ReturnsConfiguredError) {
  FaultyFileSystem faulty(fs_, {.at = 0, .error = {Code::kIo, "Read-only file system", "here"}});
  EXPECT_EQ(faulty.remove(at("x")).error(), (Error{Code::kIo, "Read-only file system", "here"}));
}

}  // namespace
}  // namespace lanista
