#include "lanista/engine/core/study_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "lanista/base/frame.h"
#include "lanista/engine/core/package.h"
#include "lanista/io/store/log.h"

namespace lanista::engine {
namespace {

class StudyFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "lanista_folder_XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    folder_ = root_ + "/study";
    fs_ = real_file_system().confined_to(folder_);
    ASSERT_TRUE(create_study_layout(*fs_, folder_, "seed: 1\n"));
    for (const char* name : {"/log", "/best/members"}) ASSERT_TRUE(fs_->make_folder(folder_ + name));
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  std::string at(const std::string& name) const { return folder_ + "/" + name; }

  std::string root_, folder_;
  std::shared_ptr<FileSystem> fs_;
};

TEST_F(StudyFolder, RefusesLinkOrFifoAtStudyPaths) {
  ASSERT_TRUE(check_own_paths(*fs_, folder_));
  for (const std::string name : {"log/lock", "log/000001.log", "control/crash.marks", "best/model.onnx", "report.html",
                                 "best/members", "best", "control", "ckpt", "log"}) {
    std::filesystem::remove_all(at(name));
    ASSERT_EQ(::symlink("/nonexistent/target", at(name).c_str()), 0);  // dangling
    const auto linked = check_own_paths(*fs_, folder_);
    ASSERT_FALSE(linked) << name;
    EXPECT_EQ(linked.error().where, at(name));
    std::filesystem::remove(at(name));
    ASSERT_EQ(::mkfifo(at(name).c_str(), 0600), 0);
    EXPECT_EQ(check_own_paths(*fs_, folder_).error().where, at(name));
    std::filesystem::remove(at(name));
    const bool is_folder = name == "best/members" || name.find_first_of("/.") == std::string::npos;
    if (is_folder) std::filesystem::create_directory(at(name));
  }
  EXPECT_TRUE(check_own_paths(*fs_, folder_));
}

TEST_F(StudyFolder, RemovesLeftoversAndKeepsUserFiles) {
  const std::string leftover = ".tmp-0123456789abcdef";
  for (const char* name : {"report.html", "control/pause", "best/model.onnx", "best/members/1.graph"}) {
    ASSERT_TRUE(fs_->write_file(at(name + leftover), {}));
  }
  for (const char* name : {"notes.tmp", "control/notes", "best/mine.onnx"}) ASSERT_TRUE(fs_->write_file(at(name), {}));
  ASSERT_TRUE(create_study_layout(*fs_, folder_, "seed: 1\n"));
  for (const char* name : {"report.html", "control/pause", "best/model.onnx", "best/members/1.graph"}) {
    EXPECT_FALSE(fs_->exists(at(name + leftover))) << name;
  }
  for (const char* name : {"notes.tmp", "control/notes", "best/mine.onnx"}) EXPECT_TRUE(fs_->exists(at(name))) << name;
}

TEST_F(StudyFolder, RefusesFolderWithForeignLog) {
  const std::string log = at("log/000001.log");
  for (const std::string text : {"my text", "x\n", "notes of a year\nand more", "\x01\x02\x03 not a log at all"}) {
    ASSERT_TRUE(write_atomically(*fs_, log, text));
    const auto free = check_new_folder(*fs_, folder_);
    ASSERT_FALSE(free) << text;
    EXPECT_EQ(free.error().where, log);
    EXPECT_EQ(*fs_->read(log), text);
  }
  std::string header;
  encode_frame(static_cast<std::uint16_t>(store::RecordType::kHeader), std::string(3000, ' '), header);
  for (const std::size_t size : {std::size_t{0}, std::size_t{2}, std::size_t{5}, std::size_t{8}, std::size_t{2000}}) {
    ASSERT_TRUE(write_atomically(*fs_, log, header.substr(0, size)));  // a start that was cut off
    std::filesystem::remove_all(at("best"));
    EXPECT_TRUE(check_new_folder(*fs_, folder_)) << size;
  }
}

TEST_F(StudyFolder, KeepsUserFilesFromPackages) {
  FileSystem& fs = real_file_system();
  EXPECT_TRUE(check_package_folder(fs, root_ + "/new"));
  std::filesystem::create_directories(root_ + "/app/members");
  EXPECT_FALSE(check_package_folder(fs, root_ + "/app"));
  ASSERT_TRUE(
      fs.write_file(root_ + "/app/package.json", std::as_bytes(std::span(R"({"name":"app","version":"1"})", 28))));
  const auto other = check_package_folder(fs, root_ + "/app");
  ASSERT_FALSE(other);
  EXPECT_NE(other.error().message.find("members, package.json"), std::string::npos) << other.error().message;
  std::filesystem::remove_all(root_ + "/app/members");
  ASSERT_TRUE(write_atomically(fs, root_ + "/app/package.json", R"({"schema":1,"version":"0.1.0","graph_hash":"00"})"));
  EXPECT_TRUE(check_package_folder(fs, root_ + "/app"));
}

TEST_F(StudyFolder, RespectsUmask) {
  const mode_t before = ::umask(0077);
  const std::string other = root_ + "/private";
  const auto fs = real_file_system().confined_to(other);
  ASSERT_TRUE(create_study_layout(*fs, other, "seed: 1\n"));
  ::umask(before);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(other)) {
    struct stat facts {};
    ASSERT_EQ(::stat(entry.path().c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 0077U, 0U) << entry.path();
  }
}

}  // namespace
}  // namespace lanista::engine
