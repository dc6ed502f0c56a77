#pragma once

#include <map>
#include <set>
#include <string>

namespace lanista::path_attacks {

/// Records the relative paths that are created, written, renamed or removed below a folder while this object lives.
///
/// Files that are removed again count. A new folder is watched after its creation has been read from the queue.
class WatchedNames {
 public:
  /// Starts to watch a folder and the folders below it.
  explicit WatchedNames(std::string folder);
  WatchedNames(const WatchedNames&) = delete;
  WatchedNames& operator=(const WatchedNames&) = delete;
  ~WatchedNames();

  /// Returns all paths that were recorded so far, and all that are in the folder now.
  std::set<std::string> take();

 private:
  void watch(const std::string& relative);
  std::string folder_;
  int queue_ = -1;                      ///< inotify descriptor
  std::map<int, std::string> folders_;  ///< relative path of each inotify watch
  std::set<std::string> names_;         ///< paths that were recorded
};

/// Returns a path with its varying parts replaced, for example "ckpt/ADDRESS.safetensors.tmp-RANDOM".
std::string pattern_of(const std::string& name);

}  // namespace lanista::path_attacks
