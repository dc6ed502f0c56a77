#pragma once

#include <string>
#include <vector>

namespace lanista::planted {

/// What is put in the place of one of the program's files or folders.
enum class PathAttack {
  kLink,          ///< to a file outside
  kDanglingLink,  ///< to a name outside that is not there
  kFolderLink,    ///< to a folder outside
  kFifo,
  kDevice,      ///< needs the right to make one
  kHardLink,    ///< of a file outside
  kOtherUser,   ///< a file that another user owns and everyone may write; needs root
  kFolder,      ///< with a file of the user in it
  kMoved,       ///< what was there is moved outside, and a link leads to it
  kSecondName,  ///< the file that was there has another name outside
};
std::vector<PathAttack> all_path_attacks();
std::string path_attack_name(PathAttack attack);

/// What must not change: a tree of files next to the study, to which plants lead. It has names that a sweep would
/// remove if it followed a link.
class ProtectedTree {
 public:
  explicit ProtectedTree(std::string folder);
  void make() const;  ///< anew
  /// Kinds, modes, owners and contents of everything.
  std::string description() const;
  const std::string& folder() const { return folder_; }
  std::string file() const { return folder_ + "/notes.txt"; }

 private:
  std::string folder_;
};

/// Whether a plant can be made of what is at `path`.
bool is_applicable(PathAttack attack, const std::string& path);
/// Puts a plant at `path`, in the place of what is there; folders above it are made. False: this user may not.
bool place_attack(PathAttack attack, const std::string& path, const ProtectedTree& protected_tree);

/// The bytes of the file that a plant is, if it belongs to another; it is read by a descriptor that stays open.
class OtherFile {
 public:
  OtherFile(PathAttack attack, const std::string& path);
  OtherFile(const OtherFile&) = delete;
  OtherFile& operator=(const OtherFile&) = delete;
  ~OtherFile();
  bool is_unchanged() const;

 private:
  int fd_ = -1;
  std::string user_file_;  ///< of a folder in the place of a file
};

}  // namespace lanista::planted
