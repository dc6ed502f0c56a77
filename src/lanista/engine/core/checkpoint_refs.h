#pragma once

#include <map>
#include <set>
#include <string>

#include "lanista/io/store/checkpoints.h"

namespace lanista::engine {

/// Reference counts of the files in a checkpoint store. Addresses are hashes of the content, so one file may be used by
/// several trials.
///
/// The engine removes unreferenced files only after the log records that release them are on disk. Otherwise a crash
/// could leave a log that names a removed file. Not thread-safe.
class CheckpointRefs {
 public:
  /// Counts references to files of the store `files`; none has a reference yet.
  explicit CheckpointRefs(store::CheckpointStore files) : files_(std::move(files)) {}

  /// Adds a reference to a file. An empty address has no effect.
  void hold(const std::string& address);
  /// Removes a reference. After the last one, or if there is none, the next remove_unreferenced_files() removes the
  /// file. An empty address has no effect.
  void release(const std::string& address);
  /// True if the file has at least one reference.
  bool has_reference(const std::string& address) const { return reference_counts_.contains(address); }
  /// Removes the files that lost their last reference since the last call. Errors: those of CheckpointStore::remove
  /// (kInvalidArgument, kIo).
  Result<void> remove_unreferenced_files();
  /// Removes a damaged file at once and keeps its references, so that it can be written again. Errors: those of
  /// CheckpointStore::remove (kInvalidArgument, kIo).
  Result<void> remove_damaged(const std::string& address) { return files_.remove(address); }
  /// Removes every file in the store that has no reference, also files of earlier processes. Errors: those of the file
  /// system.
  Result<void> remove_unreferenced();
  /// The checkpoint store, for reading.
  const store::CheckpointStore& files() const { return files_; }

 private:
  store::CheckpointStore files_;
  std::map<std::string, int> reference_counts_;
  std::set<std::string> unreferenced_;
};

}  // namespace lanista::engine
