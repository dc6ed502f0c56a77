#include "lanista/base/read_inside_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <stop_token>
#include <thread>

#include <gtest/gtest.h>

namespace lanista {
namespace {

namespace fs = std::filesystem;

class ReadInsideFolder : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "lanista_beneath_XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    fs::create_directories(root_ / "models" / "data");
    write("secret", "secret");
    write("models/weights", "0123456789");
    write("models/data/more", "abc");
  }
  void TearDown() override { fs::remove_all(root_); }

  void write(const std::string& name, const std::string& text) { std::ofstream(root_ / name) << text; }

  /// The text of the file, or the name of the error's code.
  std::string read(const std::string& name, std::uint64_t offset = 0, std::uint64_t length = 3) const {
    const auto bytes = read_inside_folder((root_ / "models").string(), name, offset, length);
    if (!bytes) return std::string(code_name(bytes.error().code)) + ": " + bytes.error().message;
    return {reinterpret_cast<const char*>(bytes->data()), bytes->size()};
  }

  fs::path root_;
};

TEST_F(ReadInsideFolder, ReadsARange) {
  EXPECT_EQ(read("weights", 0, 10), "0123456789");
  EXPECT_EQ(read("weights", 7, 3), "789");
  EXPECT_EQ(read("weights", 10, 0), "");
  EXPECT_EQ(read("./data/more"), "abc");
}

TEST_F(ReadInsideFolder, RefusesRangesBeyondTheFile) {
  for (const auto& [offset, length] :
       {std::pair<std::uint64_t, std::uint64_t>{8, 3}, {11, 0}, {0, ~0ULL}, {~0ULL, 2}}) {
    EXPECT_TRUE(read("weights", offset, length).starts_with("data_loss: ")) << offset << " " << length;
  }
}

TEST_F(ReadInsideFolder, RefusesPathsThatLeaveTheFolder) {
  EXPECT_TRUE(read("../secret").starts_with("invalid_argument: the path leaves its folder")) << read("../secret");
  EXPECT_TRUE(read("data/../../secret").starts_with("invalid_argument")) << read("data/../../secret");
  EXPECT_TRUE(read((root_ / "secret").string()).starts_with("invalid_argument: is not a relative path"));
  EXPECT_TRUE(read("").starts_with("invalid_argument"));
  EXPECT_TRUE(read(std::string("weights\0x", 9)).starts_with("invalid_argument"));
  EXPECT_TRUE(read("nothing").starts_with("not_found"));
}

TEST_F(ReadInsideFolder, IsSafeAgainstConcurrentRenames) {
  std::jthread others([this](const std::stop_token& stop) {
    write("a", "a");
    while (!stop.stop_requested()) {
      fs::rename(root_ / "a", root_ / "b");
      fs::rename(root_ / "b", root_ / "a");
    }
  });
  for (int i = 0; i < 20'000; ++i) ASSERT_EQ(read("data/../weights"), "012") << i;
}

TEST_F(ReadInsideFolder, RefusesLinksAndSpecialFiles) {
  fs::create_symlink(root_ / "secret", root_ / "models" / "soft");
  fs::create_directory_symlink(root_, root_ / "models" / "up");
  fs::create_symlink("weights", root_ / "models" / "near");
  fs::create_hard_link(root_ / "secret", root_ / "models" / "hard");
  ASSERT_EQ(mkfifo((root_ / "models" / "pipe").c_str(), 0600), 0);

  fs::create_symlink("around", root_ / "models" / "around");
  EXPECT_TRUE(read("soft").starts_with("invalid_argument: the path leaves its folder")) << read("soft");
  EXPECT_TRUE(read("up/secret").starts_with("invalid_argument: the path leaves its folder"));
  EXPECT_TRUE(read("around").starts_with("invalid_argument: symbolic links lead in a circle")) << read("around");
  EXPECT_EQ(read("near"), "012");
  EXPECT_TRUE(read("hard").starts_with("invalid_argument: has 2 names")) << read("hard");
  EXPECT_TRUE(read("pipe").starts_with("invalid_argument: is not a regular file")) << read("pipe");
  EXPECT_TRUE(read("data").starts_with("invalid_argument: is not a regular file"));
}

TEST_F(ReadInsideFolder, FollowsLinksInsideACacheOfRevisions) {
  const fs::path cache = root_ / "models--some--net", revision = cache / "snapshots" / "4f1c";
  fs::create_directories(revision / "onnx");
  fs::create_directories(cache / "blobs");
  write("models--some--net/blobs/aa11", "abcdef");
  fs::create_symlink("../../blobs/aa11", revision / "net.onnx_data");
  fs::create_symlink("../../../blobs/aa11", revision / "onnx" / "net.onnx_data");
  fs::create_symlink("../../../secret", revision / "out");
  fs::create_symlink(root_ / "secret", revision / "absolute");
  const auto from = [](const fs::path& folder, const std::string& name) {
    const auto bytes = read_inside_folder(folder.string(), name, 1, 3);
    if (!bytes) return std::string(code_name(bytes.error().code)) + ": " + bytes.error().message;
    return std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  };

  EXPECT_EQ(from(revision, "net.onnx_data"), "bcd");
  EXPECT_EQ(from(revision / "onnx", "net.onnx_data"), "bcd");
  EXPECT_EQ(from(revision, "onnx/net.onnx_data"), "bcd");
  for (const char* outside : {"out", "absolute", "../../blobs/aa11"}) {
    EXPECT_TRUE(from(revision, outside).starts_with("invalid_argument: the path leaves its folder")) << outside;
  }
  // Without blobs it is no cache.
  fs::rename(cache / "blobs", cache / "other");
  fs::create_symlink("../../other/aa11", revision / "other");
  EXPECT_TRUE(from(revision, "other").starts_with("invalid_argument: the path leaves its folder"));
}

}  // namespace
}  // namespace lanista
