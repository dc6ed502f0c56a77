#pragma once

#include <map>
#include <set>
#include <string>

namespace lanista::planted {

/// The names that are created, written, renamed or removed below a folder while this object lives, as relative paths.
/// Names of files that are removed again are among them. A new folder is watched from the moment that it is seen.
class WatchedNames {
 public:
  explicit WatchedNames(std::string folder);
  WatchedNames(const WatchedNames&) = delete;
  WatchedNames& operator=(const WatchedNames&) = delete;
  ~WatchedNames();
  /// All names so far, and everything that is in the folder now.
  std::set<std::string> take();

 private:
  void watch(const std::string& relative);
  std::string folder_;
  int queue_ = -1;
  std::map<int, std::string> folders_;
  std::set<std::string> names_;
};

/// A name with its changing parts replaced: "ckpt/ADDRESS.safetensors.tmp-RANDOM".
std::string pattern_of(const std::string& name);

}  // namespace lanista::planted
