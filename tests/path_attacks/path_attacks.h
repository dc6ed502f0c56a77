#pragma once

#include <string>
#include <vector>

namespace lanista::path_attacks {

/// The kind of file system entry that replaces a file or folder of the program.
enum class PathAttack {
  kLink,          ///< Symbolic link to a file outside.
  kDanglingLink,  ///< Symbolic link to a name outside that does not exist.
  kFolderLink,    ///< Symbolic link to a folder outside.
  kFifo,          ///< Named pipe without a reader or writer.
  kDevice,        ///< Device that can be read without end; the user needs the right to make one.
  kHardLink,      ///< Hard link of a file outside.
  kOtherUser,     ///< File of another user that all users may write; only root can make it.
  kFolder,        ///< Folder with a file of the user.
  kMoved,         ///< Symbolic link to the original, which is moved outside.
  kSecondName,    ///< The original file, with a second hard link outside.
};

/// Returns each value of PathAttack once.
std::vector<PathAttack> all_path_attacks();

/// Returns the name of an attack for messages.
std::string path_attack_name(PathAttack attack);

/// A tree of files next to the study that must not change. Attacks lead to it.
///
/// Its files have names that a sweep of the program would remove if it followed a link.
class ProtectedTree {
 public:
  /// Stores the path of the tree; make() writes it.
  explicit ProtectedTree(std::string folder);

  /// Removes the tree and writes it again.
  void make() const;

  /// Returns one line for each entry: its path, mode, owner and content. Equal texts mean equal trees.
  std::string description() const;

  /// Returns the path of the tree.
  const std::string& folder() const { return folder_; }

  /// Returns the path of one regular file in the tree.
  std::string file() const { return folder_ + "/notes.txt"; }

 private:
  std::string folder_;
};

/// True if the attack can be made from the entry at `path`: kMoved and kSecondName need an original.
bool is_applicable(PathAttack attack, const std::string& path);

/// Replaces the entry at `path` by an attack, and makes the folders above it.
///
/// Returns false if this user may not make it.
bool place_attack(PathAttack attack, const std::string& path, const ProtectedTree& protected_tree);

/// The foreign file of an attack of kind kOtherUser or kFolder, which the program must not change.
///
/// The file of another user is read through a descriptor that stays open, so its removal is no change.
class OtherFile {
 public:
  /// Opens the foreign file of the attack at `path`. Other kinds of attacks have none.
  OtherFile(PathAttack attack, const std::string& path);
  OtherFile(const OtherFile&) = delete;
  OtherFile& operator=(const OtherFile&) = delete;
  ~OtherFile();

  /// True if the foreign file has its first content, or if there is none.
  bool is_unchanged() const;

 private:
  int fd_ = -1;            ///< descriptor of the file of another user; -1: none
  std::string user_file_;  ///< path of the user's file in a folder; empty: none
};

}  // namespace lanista::path_attacks
