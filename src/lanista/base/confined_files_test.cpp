// Files in a folder that another user may have prepared: links, FIFOs, devices, hard links, files of other users.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "lanista/base/file_system.h"
#include "support/base/temporary_folder.h"

namespace lanista {
namespace {

std::span<const std::byte> bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

/// A folder `study` to be confined to, and a folder `victim` with a file `key` next to it.
class ConfinedFiles : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"/study", "/study/inner", "/victim"}) std::filesystem::create_directory(root_ + name);
    ASSERT_TRUE(real_file_system().write_file(key(), bytes("key")));
    fs_ = real_file_system().confined_to(study());
  }

  std::string study(const std::string& name = "") const { return root_ + "/study" + (name.empty() ? "" : "/" + name); }
  std::string key() const { return root_ + "/victim/key"; }
  void link(const std::string& target, const std::string& name) {
    ASSERT_EQ(::symlink(target.c_str(), study(name).c_str()), 0);
  }
  /// Makes every call that changes or reads `path` and expects an error with `code` and `where`.
  void expect_refused(const std::string& path, Code code, const std::string& where) {
    const std::vector<std::pair<std::string, Error>> all{{"append", error_of(fs_->open_append(path))},
                                                         {"read", error_of(fs_->read(path))},
                                                         {"truncate", error_of(fs_->truncate(path, 0))},
                                                         {"lock", error_of(fs_->lock(path))}};
    for (const auto& [call, error] : all) {
      EXPECT_EQ(error.code, code) << call << ": " << error.text();
      EXPECT_EQ(error.where, where) << call;
    }
  }
  template <class T>
  static Error error_of(const Result<T>& result) {
    return result ? Error{Code::kInternal, "nothing was refused", ""} : result.error();
  }
  void expect_untouched() const {
    EXPECT_EQ(*real_file_system().read(key()), "key");
    EXPECT_EQ(*real_file_system().list(root_ + "/victim"), std::vector<std::string>{"key"});
  }

  TemporaryFolder folder_{"confined"};
  std::string root_ = folder_.path();
  std::shared_ptr<FileSystem> fs_;
};

TEST_F(ConfinedFiles, WorksInRegularFolders) {
  ASSERT_TRUE(fs_->make_folder(study("a/b/")));
  ASSERT_TRUE(fs_->write_file(study("a/b/c"), bytes("one")));
  ASSERT_TRUE(write_atomically(*fs_, study("a/b/c"), "two"));
  EXPECT_EQ(*fs_->read(study("a//b/c")), "two");
  ASSERT_TRUE(fs_->rename(study("a/b/c"), study("a/d")));
  EXPECT_EQ(*fs_->list(study("a")), (std::vector<std::string>{"b", "d"}));
  EXPECT_EQ(*fs_->size(study("a/d")), 3U);
  EXPECT_EQ(fs_->kind(study("a/d")), FileKind::kFile);
  EXPECT_EQ(fs_->kind(study("a")), FileKind::kFolder);
  EXPECT_TRUE(fs_->sync_folder(study("a")));
  ASSERT_TRUE(fs_->remove(study("a/d")));
  ASSERT_TRUE(fs_->remove(study("a/b")));
  EXPECT_TRUE(fs_->remove(study("a/b")));
  EXPECT_EQ(fs_->kind(study("a/b")), FileKind::kNothing);
  EXPECT_EQ(fs_->read(study("gone/file")).error().code, Code::kNotFound);
  EXPECT_TRUE(fs_->remove(study("gone/file")));
}

TEST_F(ConfinedFiles, RefusesLinkAsFile) {
  for (const std::string& target : {std::string("../victim/key"), std::string("../victim/new"), key()}) {
    link(target, "file");
    expect_refused(study("file"), Code::kDataLoss, study("file"));
    EXPECT_EQ(fs_->write_file(study("file"), bytes("x")).error().code, Code::kAlreadyExists);
    const auto written = write_atomically(*fs_, study("file"), "x");
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().where, study("file"));
    EXPECT_EQ(fs_->kind(study("file")), FileKind::kLink);
    EXPECT_TRUE(fs_->exists(study("file")));  // so that no caller makes a new one
    ASSERT_TRUE(fs_->remove(study("file")));  // removes the link, not its target
    expect_untouched();
  }
}

TEST_F(ConfinedFiles, RefusesLinkAsFolder) {
  link("../victim", "ckpt");
  expect_refused(study("ckpt/key"), Code::kDataLoss, study("ckpt"));
  EXPECT_EQ(fs_->list(study("ckpt")).error().code, Code::kDataLoss);
  EXPECT_EQ(fs_->sync_folder(study("ckpt")).error().code, Code::kDataLoss);
  EXPECT_EQ(fs_->make_folder(study("ckpt")).error().code, Code::kDataLoss);
  EXPECT_EQ(fs_->make_folder(study("ckpt/deeper")).error().code, Code::kDataLoss);
  EXPECT_EQ(fs_->remove(study("ckpt/key")).error().code, Code::kDataLoss);
  EXPECT_EQ(fs_->rename(study("ckpt/key"), study("mine")).error().code, Code::kDataLoss);
  EXPECT_EQ(write_atomically(*fs_, study("ckpt/key"), "x").error().code, Code::kDataLoss);
  EXPECT_FALSE(fs_->exists(study("ckpt/key")));
  expect_untouched();
}

TEST_F(ConfinedFiles, RefusesFifoWithoutBlocking) {
  ASSERT_EQ(::mkfifo(study("fifo").c_str(), 0600), 0);
  for (const Code code :
       {error_of(fs_->open_append(study("fifo"))).code, error_of(fs_->lock(study("fifo"))).code,
        error_of(fs_->truncate(study("fifo"), 0)).code, error_of(write_atomically(*fs_, study("fifo"), "x")).code}) {
    EXPECT_EQ(code, Code::kDataLoss);
  }
  EXPECT_EQ(fs_->read(study("fifo")).error().code, Code::kInvalidArgument);
  EXPECT_EQ(fs_->kind(study("fifo")), FileKind::kOther);
  EXPECT_EQ(*fs_->list(study()), (std::vector<std::string>{"fifo", "inner"}));
}

TEST_F(ConfinedFiles, RefusesToWriteHardLinkedFile) {
  ASSERT_EQ(::link(key().c_str(), study("log").c_str()), 0);
  for (const Code code : {error_of(fs_->open_append(study("log"))).code, error_of(fs_->lock(study("log"))).code,
                          error_of(fs_->truncate(study("log"), 0)).code}) {
    EXPECT_EQ(code, Code::kDataLoss);
  }
  ASSERT_TRUE(write_atomically(*fs_, study("log"), "a new file of this name"));
  expect_untouched();
}

TEST_F(ConfinedFiles, RefusesToWriteForeignFile) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to make a file of another user";
  constexpr uid_t kOther = 54321;
  ASSERT_TRUE(fs_->write_file(study("theirs"), bytes("theirs")));
  ASSERT_EQ(::chown(study("theirs").c_str(), kOther, kOther), 0);
  EXPECT_EQ(fs_->open_append(study("theirs")).error().code, Code::kDataLoss);
  EXPECT_EQ(fs_->truncate(study("theirs"), 0).error().code, Code::kDataLoss);
  EXPECT_EQ(fs_->lock(study("theirs")).error().code, Code::kDataLoss);
  EXPECT_EQ(fs_->kind(study("theirs")), FileKind::kOther);
  EXPECT_EQ(*fs_->read(study("theirs")), "theirs");

  ASSERT_EQ(::chown(study().c_str(), kOther, kOther), 0);  // root works in a folder of another user
  EXPECT_TRUE(fs_->open_append(study("theirs")));
  EXPECT_EQ(fs_->kind(study("theirs")), FileKind::kFile);
}

TEST_F(ConfinedFiles, ReadsOutsideButNeverWritesThere) {
  EXPECT_EQ(*fs_->read(study("../victim/key")), "key");
  EXPECT_EQ(fs_->open_append(study("../victim/key")).error().code, Code::kDataLoss);
  EXPECT_EQ(fs_->remove(study("inner/../../victim/key")).error().code, Code::kDataLoss);
  EXPECT_TRUE(fs_->write_file(root_ + "/victim/other", {}));  // a path outside is not confined
  ASSERT_TRUE(fs_->remove(root_ + "/victim/other"));
  expect_untouched();
}

TEST_F(ConfinedFiles, FollowsLinkToTheRoot) {
  ASSERT_EQ(::symlink("study", (root_ + "/short").c_str()), 0);
  const auto by_link = real_file_system().confined_to(root_ + "/short/");
  ASSERT_TRUE(write_atomically(*by_link, root_ + "/short/inner/file", "x"));
  EXPECT_EQ(*fs_->read(study("inner/file")), "x");
  link("../victim/key", "file");
  EXPECT_FALSE(by_link->open_append(root_ + "/short/file"));
}

TEST_F(ConfinedFiles, KeepsOpenedFolderWhenPathChanges) {
  ASSERT_TRUE(write_atomically(*fs_, study("inner/first"), "x"));
  std::filesystem::rename(study(), root_ + "/moved");
  ASSERT_EQ(::symlink("victim", study().c_str()), 0);
  ASSERT_TRUE(fs_->write_file(study("inner/second"), bytes("x")));
  EXPECT_TRUE(std::filesystem::exists(root_ + "/moved/inner/second"));
  expect_untouched();
}

TEST_F(ConfinedFiles, ReopensRecreatedFolder) {
  ASSERT_TRUE(fs_->write_file(study("inner/first"), {}));
  std::filesystem::remove_all(study());
  EXPECT_EQ(fs_->write_file(study("inner/first"), {}).error().code, Code::kNotFound);
  ASSERT_TRUE(make_durable_folder(*fs_, study("inner")));
  EXPECT_TRUE(fs_->write_file(study("inner/first"), {}));
}

TEST_F(ConfinedFiles, ConfinesNestedFoldersOnce) {
  const auto inner = fs_->confined_to(study("inner"));
  link("../victim", "linked");
  EXPECT_EQ(inner->read(study("linked/key")).error().code, Code::kDataLoss);
  ASSERT_EQ(::rmdir(study("inner").c_str()), 0);
  link("../victim", "inner");
  EXPECT_EQ(inner->read(study("inner/key")).error().code, Code::kDataLoss);
}

TEST_F(ConfinedFiles, RemovesOnlyOwnLeftovers) {
  const std::string leftover = "report.html.tmp-0123456789abcdef";
  ASSERT_TRUE(fs_->write_file(study(leftover), {}));
  for (const char* name : {"mine.tmp", "mine.tmp-0123456789abcde", "mine.tmp-0123456789abcdeF", "mine.tmp-"}) {
    ASSERT_TRUE(fs_->write_file(study(name), {}));
  }
  link("../victim/key", "link.tmp-0123456789abcdef");
  ASSERT_EQ(::mkfifo(study("fifo.tmp-0123456789abcdef").c_str(), 0600), 0);
  std::filesystem::create_directory(study("folder.tmp-0123456789abcdef"));
  ASSERT_TRUE(remove_leftovers(*fs_, study()));
  EXPECT_FALSE(fs_->exists(study(leftover)));
  EXPECT_EQ(fs_->list(study())->size(), 8U);
  EXPECT_TRUE(remove_leftovers(*fs_, study("gone")));
  expect_untouched();
}

TEST_F(ConfinedFiles, LocksArePrivateToTheUser) {
  ASSERT_TRUE(fs_->write_file(study("lock"), {}));  // as earlier builds made it
  struct stat file_status {};
  ASSERT_EQ(::stat(study("lock").c_str(), &file_status), 0);
  ASSERT_EQ(file_status.st_mode & 0777U, 0666U & ~static_cast<unsigned>([] {
                                           const mode_t mask = ::umask(0);
                                           ::umask(mask);
                                           return mask;
                                         }()));
  for (const char* name : {"lock", "new-lock"}) {
    ASSERT_TRUE(fs_->lock(study(name)));
    ASSERT_EQ(::stat(study(name).c_str(), &file_status), 0);
    EXPECT_EQ(file_status.st_mode & 0777U, 0600U) << name;
  }
}

TEST(TemporaryName, IsNewEachTimeAndKnownAgain) {
  const std::string one = temporary_name("best/model.onnx"), other = temporary_name("best/model.onnx");
  EXPECT_NE(one, other);
  EXPECT_TRUE(one.starts_with("best/model.onnx.tmp-"));
  EXPECT_TRUE(is_temporary_name(one));
  EXPECT_FALSE(is_temporary_name("best/model.onnx"));
}

}  // namespace
}  // namespace lanista
