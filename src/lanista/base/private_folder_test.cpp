// Folders and files that only one user can reach, and files of other kinds in their place.
#include "lanista/base/private_folder.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>

namespace lanista {
namespace {

namespace fs = std::filesystem;

constexpr uid_t kOtherUser = 54321;

bool is_data_name(std::string_view name) { return name.starts_with("data"); }

class PrivateFolders : public ::testing::Test {
 protected:
  PrivateFolders() {
    std::string pattern = (fs::temp_directory_path() / "lanista_private_XXXXXX").string();
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    root = pattern;
  }
  ~PrivateFolders() override { fs::remove_all(root); }

  std::string prefix() const { return root + "/box-"; }
  PrivateFolder make() const { return *PrivateFolder::create(prefix()); }
  static Error opened(const PrivateFolder& folder, const std::string& name) {
    const auto file = folder.open_file(name);
    if (!file) return file.error();
    ::close(*file);
    return {Code::kInternal, "the file was opened", ""};
  }
  static void write(const std::string& path) { std::ofstream(path) << "mine"; }

  std::string root;
};

TEST_F(PrivateFolders, HasRandomNamesAndMode0700) {
  std::set<std::string> names;
  for (int i = 0; i < 20; ++i) names.insert(make().path());
  EXPECT_EQ(names.size(), 20U);
  struct stat file_status {};
  ASSERT_EQ(::stat(names.begin()->c_str(), &file_status), 0);
  EXPECT_EQ(file_status.st_mode & 07777, 0700U);
  const PrivateFolder folder = make();
  const auto file = folder.create_file("data");
  ASSERT_TRUE(file.ok());
  ASSERT_EQ(::fstat(*file, &file_status), 0);
  EXPECT_EQ(file_status.st_mode & 07777, 0600U);
  ::close(*file);
  EXPECT_EQ(folder.create_file("data").error().code, Code::kAlreadyExists);
  EXPECT_EQ(opened(folder, "data").code, Code::kInternal);
  EXPECT_EQ(opened(folder, "none").code, Code::kNotFound);
}

TEST_F(PrivateFolders, RefusesFoldersOthersCouldCreate) {
  const std::string path = make().path();
  EXPECT_TRUE(PrivateFolder::open(path).ok());
  fs::create_directory_symlink(path, root + "/link");
  EXPECT_EQ(PrivateFolder::open(root + "/link").error().code, Code::kFailedPrecondition);
  write(root + "/file");
  EXPECT_EQ(PrivateFolder::open(root + "/file").error().code, Code::kFailedPrecondition);
  EXPECT_EQ(PrivateFolder::open(root + "/none").error().code, Code::kNotFound);
  ASSERT_EQ(::chmod(path.c_str(), 0750), 0);
  const auto wide = PrivateFolder::open(path);
  ASSERT_FALSE(wide.ok());
  EXPECT_EQ(wide.error().message, "the mode is 0750; it must be 0700");
  ASSERT_EQ(::chmod(path.c_str(), 0700), 0);
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a folder to another user";
  ASSERT_EQ(::chown(path.c_str(), kOtherUser, kOtherUser), 0);
  const auto foreign = PrivateFolder::open(path);
  ASSERT_FALSE(foreign.ok());
  EXPECT_EQ(foreign.error().message, "the owner is user 54321; it must be user 0");
}

TEST_F(PrivateFolders, RefusesForeignFilesWithoutBlocking) {
  const PrivateFolder folder = make();
  const auto at = [&](const char* name) { return folder.path() + "/" + name; };
  write(root + "/outside");
  fs::permissions(root + "/outside", fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("../outside", at("link"));
  fs::create_symlink("../nothing", at("dangling"));
  ASSERT_EQ(::mkfifo(at("fifo").c_str(), 0600), 0);
  ASSERT_EQ(::mkdir(at("folder").c_str(), 0700), 0);
  fs::create_hard_link(root + "/outside", at("hard"));
  write(at("open"));
  fs::permissions(at("open"), fs::perms(0666));
  for (const char* name : {"link", "dangling", "fifo", "folder", "hard", "open"}) {
    const Error error = opened(folder, name);
    EXPECT_TRUE(error.code == Code::kFailedPrecondition || (error.code == Code::kIo && name == std::string("folder")))
        << name << ": " << error.text();
    EXPECT_FALSE(folder.create_file(name).ok()) << name;
  }
  EXPECT_EQ(opened(folder, "open").message, "the mode is 0666; it must be 0600");
  EXPECT_EQ(opened(folder, "hard").message, "the file has 2 names; it must have 1");
  for (const char* name : {"", ".", "..", "../outside", "a/b"}) {
    EXPECT_EQ(opened(folder, name).code, Code::kInvalidArgument) << name;
    EXPECT_EQ(folder.create_file(name).error().code, Code::kInvalidArgument) << name;
  }
  EXPECT_FALSE(fs::exists(root + "/nothing"));
  EXPECT_EQ(fs::file_size(root + "/outside"), 4U);
}

TEST_F(PrivateFolders, SweepRemovesOnlyOwnFiles) {
  const std::string clean = make().path(), used = make().path();
  for (const std::string& folder : {clean, used}) write(folder + "/data1");
  write(used + "/notes");
  write(root + "/outside");
  fs::create_symlink("../outside", used + "/data2");
  const std::string elsewhere = root + "/elsewhere";
  fs::create_directory(elsewhere);
  fs::permissions(elsewhere, fs::perms::owner_all);
  write(elsewhere + "/data1");
  fs::create_directory_symlink(elsewhere, prefix() + "0123456789abcdef");
  fs::create_directory(prefix() + "0123456789abcde");  // 15 digits
  write(prefix() + "0123456789abcdef0");               // 17 digits
  fs::create_directory(prefix() + "fedcba9876543210");
  fs::permissions(prefix() + "fedcba9876543210", fs::perms(0755));
  write(prefix() + "fedcba9876543210/data1");

  PrivateFolder::sweep(prefix(), is_data_name);

  EXPECT_FALSE(fs::exists(clean));
  EXPECT_FALSE(fs::exists(used + "/data1"));
  EXPECT_TRUE(fs::exists(used + "/notes") && fs::is_symlink(used + "/data2"));
  EXPECT_TRUE(fs::exists(root + "/outside") && fs::exists(elsewhere + "/data1"));
  EXPECT_TRUE(fs::is_symlink(prefix() + "0123456789abcdef") && fs::exists(prefix() + "0123456789abcde"));
  EXPECT_TRUE(fs::exists(prefix() + "0123456789abcdef0") && fs::exists(prefix() + "fedcba9876543210/data1"));
}

}  // namespace
}  // namespace lanista
