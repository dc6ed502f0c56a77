#pragma once

#include <map>
#include <set>
#include <string>

#include "lanista/io/store/checkpoints.h"

namespace lanista::engine {

/// Which checkpoint files are still needed. Files are content-addressed, so one may be needed twice. What nobody needs
/// any more goes at `flush`, which the engine calls when the records that say so are on disk: a crash must not find the
/// old file gone and the new record lost.
class CheckpointRefs {
 public:
  explicit CheckpointRefs(store::CheckpointStore files) : files_(std::move(files)) {}

  void hold(const std::string& address);     ///< empty addresses are nothing
  void release(const std::string& address);  ///< one hold less; a file that was never held counts as held once
  bool has_reference(const std::string& address) const { return reference_counts_.contains(address); }
  Result<void> remove_unreferenced_files();
  /// A file that is damaged goes at once, so that it can be written again.
  Result<void> remove_damaged(const std::string& address) { return files_.remove(address); }
  Result<void> remove_unreferenced();  ///< removes every file that nobody holds; walks the folder
  const store::CheckpointStore& files() const { return files_; }

 private:
  store::CheckpointStore files_;
  std::map<std::string, int> reference_counts_;
  std::set<std::string> unreferenced_;
};

}  // namespace lanista::engine
