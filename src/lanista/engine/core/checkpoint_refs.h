#pragma once

#include <map>
#include <set>
#include <string>

#include "lanista/io/store/checkpoints.h"

namespace lanista::engine {

/// Reference counts of checkpoint files. Files are content-addressed, so one file may have several holders. The engine
/// removes unreferenced files only after the records that release them are on disk. Otherwise a crash could leave a log
/// that names a removed file.
class CheckpointRefs {
 public:
  explicit CheckpointRefs(store::CheckpointStore files) : files_(std::move(files)) {}

  /// Adds a reference. An empty address has no effect.
  void hold(const std::string& address);
  /// Removes a reference. A file that was never held counts as held once.
  void release(const std::string& address);
  /// Whether a file has a reference.
  bool has_reference(const std::string& address) const { return reference_counts_.contains(address); }
  /// Removes the files that lost their last reference since the last call.
  Result<void> remove_unreferenced_files();
  /// Removes a damaged file at once, so that it can be written again.
  Result<void> remove_damaged(const std::string& address) { return files_.remove(address); }
  /// Removes every file in the folder without a reference.
  Result<void> remove_unreferenced();
  /// The checkpoint store.
  const store::CheckpointStore& files() const { return files_; }

 private:
  store::CheckpointStore files_;
  std::map<std::string, int> reference_counts_;
  std::set<std::string> unreferenced_;
};

}  // namespace lanista::engine
