#include "path_attacks/path_attacks.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

namespace lanista::path_attacks {
namespace {

namespace fs = std::filesystem;

constexpr uid_t kOtherUid = 65534;  // the unprivileged user of the system
constexpr const char* kContent = "belongs to another\n";

std::string bytes_of(const std::string& path) {
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}

std::string bytes_of(int fd) {
  std::array<char, 4096> buffer{};
  const ssize_t got = ::pread(fd, buffer.data(), buffer.size(), 0);
  return {buffer.data(), static_cast<std::size_t>(got < 0 ? 0 : got)};
}

void write(const std::string& path, const std::string& text) {
  fs::create_directories(fs::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

}  // namespace

std::vector<PathAttack> all_path_attacks() {
  return {PathAttack::kLink,   PathAttack::kDanglingLink, PathAttack::kFolderLink, PathAttack::kFifo,
          PathAttack::kDevice, PathAttack::kHardLink,     PathAttack::kOtherUser,  PathAttack::kFolder,
          PathAttack::kMoved,  PathAttack::kSecondName};
}

std::string path_attack_name(PathAttack attack) {
  switch (attack) {
    case PathAttack::kLink:
      return "link";
    case PathAttack::kDanglingLink:
      return "dangling link";
    case PathAttack::kFolderLink:
      return "link to a folder";
    case PathAttack::kFifo:
      return "FIFO";
    case PathAttack::kDevice:
      return "device";
    case PathAttack::kHardLink:
      return "hard link";
    case PathAttack::kOtherUser:
      return "file of another user";
    case PathAttack::kFolder:
      return "folder";
    case PathAttack::kMoved:
      return "link to where it was moved";
    case PathAttack::kSecondName:
      return "second name outside";
  }
  return "";
}

ProtectedTree::ProtectedTree(std::string folder) : folder_(std::move(folder)) {}

void ProtectedTree::make() const {
  fs::remove_all(folder_);
  const std::string address(32, 'a'), hash(64, 'b');
  for (const std::string& name : {std::string("notes.txt"),
                                  address + ".safetensors",
                                  address + ".safetensors.tmp-0123456789abcdef",
                                  hash + ".safetensors",
                                  "tmp-" + hash + "-1",
                                  std::string(".tmp-1-2-3"),
                                  std::string("000001.log"),
                                  std::string("lock"),
                                  std::string("pause"),
                                  std::string("stop"),
                                  std::string("crash.marks"),
                                  std::string("00000000001-aaaaaaaaaaaa.profile"),
                                  std::string("00000000001-aaaaaaaaaaaa.profile.tmp"),
                                  std::string("index.sqlite"),
                                  std::string("index.sqlite-wal"),
                                  std::string("model.graph"),
                                  std::string("package.json"),
                                  std::string("weights.safetensors"),
                                  std::string("model.onnx"),
                                  std::string("1.graph"),
                                  std::string("1.safetensors"),
                                  std::string("members/1.graph"),
                                  std::string("log/000001.log"),
                                  std::string("weights/") + hash + ".safetensors"}) {
    write(folder_ + "/" + name, kContent);
  }
  fs::create_directories(folder_ + "/empty");
}

std::string ProtectedTree::description() const {
  std::map<std::string, std::string> description;
  const auto add = [&](const fs::path& path) {
    struct stat found {};
    if (::lstat(path.c_str(), &found) != 0) return;
    std::string& text = description[path];
    text = std::to_string(found.st_mode) + " " + std::to_string(found.st_uid) + " ";
    if (S_ISREG(found.st_mode)) text += bytes_of(path);
  };
  add(folder_);
  for (const auto& entry : fs::recursive_directory_iterator(folder_)) add(entry.path());
  std::string out;
  for (const auto& [path, text] : description) out += path + " " + text + "\n";
  return out;
}

bool is_applicable(PathAttack attack, const std::string& path) {
  if (attack == PathAttack::kMoved) return fs::exists(fs::symlink_status(path));
  return attack != PathAttack::kSecondName || fs::is_regular_file(fs::symlink_status(path));
}

bool place_attack(PathAttack attack, const std::string& path, const ProtectedTree& protected_tree) {
  const std::string outside = protected_tree.folder() + "/moved";
  if (attack == PathAttack::kMoved) fs::rename(path, outside);
  if (attack == PathAttack::kSecondName) return ::link(path.c_str(), outside.c_str()) == 0;
  fs::remove_all(path);
  fs::create_directories(fs::path(path).parent_path());
  switch (attack) {
    case PathAttack::kLink:
      return ::symlink(protected_tree.file().c_str(), path.c_str()) == 0;
    case PathAttack::kDanglingLink:
      return ::symlink((protected_tree.folder() + "/new").c_str(), path.c_str()) == 0;
    case PathAttack::kFolderLink:
      return ::symlink(protected_tree.folder().c_str(), path.c_str()) == 0;
    case PathAttack::kFifo:
      return ::mkfifo(path.c_str(), 0666) == 0;
    case PathAttack::kDevice:
      return ::mknod(path.c_str(), S_IFCHR | 0666, makedev(1, 5)) == 0;  // /dev/zero: reading it never ends
    case PathAttack::kHardLink:
      return ::link(protected_tree.file().c_str(), path.c_str()) == 0;
    case PathAttack::kOtherUser:
      write(path, kContent);
      return ::chown(path.c_str(), kOtherUid, kOtherUid) == 0 && ::chmod(path.c_str(), 0666) == 0;
    case PathAttack::kFolder:
      write(path + "/of the user.txt", kContent);
      return true;
    case PathAttack::kMoved:
      return ::symlink(outside.c_str(), path.c_str()) == 0;
    case PathAttack::kSecondName:
      break;
  }
  return false;
}

OtherFile::OtherFile(PathAttack attack, const std::string& path) {
  if (attack == PathAttack::kOtherUser) fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (attack == PathAttack::kFolder) user_file_ = path + "/of the user.txt";
}

OtherFile::~OtherFile() {
  if (fd_ >= 0) ::close(fd_);
}

bool OtherFile::is_unchanged() const {
  return (fd_ < 0 || bytes_of(fd_) == kContent) && (user_file_.empty() || bytes_of(user_file_) == kContent);
}

}  // namespace lanista::path_attacks
