#pragma once

#include <map>
#include <set>
#include <string>

#include "lanista/io/store/checkpoints.h"

namespace lanista::engine {

/// Which checkpoint files are still needed. Files are content-addressed, so one may be needed twice. What nobody needs
/// any more goes at `flush`, which the engine calls when the records that say so are on disk: a crash must not find the
/// old file gone and the new record lost.
class Shelf {
 public:
  explicit Shelf(store::CheckpointStore files) : files_(std::move(files)) {}

  void hold(const std::string& address);     ///< empty addresses are nothing
  void release(const std::string& address);  ///< one hold less; a file that was never held counts as held once
  bool holds(const std::string& address) const { return held_.contains(address); }
  Result<void> flush();
  /// A file that is damaged goes at once, so that it can be written again.
  Result<void> discard(const std::string& address) { return files_.remove(address); }
  Result<void> clear_others();  ///< removes every file that nobody holds; walks the folder
  const store::CheckpointStore& files() const { return files_; }

 private:
  store::CheckpointStore files_;
  std::map<std::string, int> held_;
  std::set<std::string> unwanted_;
};

}  // namespace lanista::engine
