// The machine's file system must call fsync and fdatasync. This program counts these calls.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <mutex>
#include <vector>

#include "lanista/base/file_system.h"
#include "support/base/temporary_folder.h"

namespace {

std::mutex mutex;
std::vector<std::string> synced;  // names of files, in order

void note(int fd) {
  std::error_code failed;
  const auto target = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd), failed);
  const std::lock_guard lock(mutex);
  synced.push_back(target.filename().string());
}

}  // namespace

// A definition in the program overrides that of the C library.
extern "C" int fsync(int fd) {
  note(fd);
  return reinterpret_cast<int (*)(int)>(::dlsym(RTLD_NEXT, "fsync"))(fd);
}
extern "C" int fdatasync(int fd) {
  note(fd);
  return reinterpret_cast<int (*)(int)>(::dlsym(RTLD_NEXT, "fdatasync"))(fd);
}

namespace lanista {
namespace {

using Names = std::vector<std::string>;

std::span<const std::byte> bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

class Durability : public testing::Test {
 protected:
  template <class Action>
  Names synced_by(const Action& action) {
    synced.clear();
    EXPECT_TRUE(action());
    return synced;
  }
  std::string root_folder_name() const { return std::filesystem::path(root_).filename().string(); }

  FileSystem& fs_ = real_file_system();
  TemporaryFolder folder_{"sync"};
  std::string root_ = folder_.path();
};

TEST_F(Durability, SyncsAppendedBytes) {
  const auto file = *fs_.open_append(root_ + "/log");
  EXPECT_EQ(synced_by([&] { return file->append(bytes("x")); }), Names{});
  EXPECT_EQ(synced_by([&] { return file->sync(); }), Names{"log"});
}

TEST_F(Durability, SyncsFileBeforeRename) {
  EXPECT_EQ(synced_by([&] { return fs_.write_file(root_ + "/f", bytes("x")); }), Names{"f"});
  const Names whole = synced_by([&] { return write_atomically(fs_, root_ + "/g", std::string_view("x")); });
  ASSERT_EQ(whole.size(), 2U);
  EXPECT_TRUE(is_temporary_name(whole[0])) << whole[0];
  EXPECT_EQ(whole[1], root_folder_name());
}

TEST_F(Durability, SyncsFolderOfNewNames) {
  EXPECT_EQ(synced_by([&] { return fs_.sync_folder(root_); }), Names{root_folder_name()});
  const Names made = synced_by([&] { return make_durable_folder(fs_, root_ + "/a/b"); });
  ASSERT_GE(made.size(), 2U);
  EXPECT_EQ(made[0], "a");
  EXPECT_EQ(made[1], root_folder_name());
}

}  // namespace
}  // namespace lanista
