#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "lanista/base/file_system.h"
#include "lanista/base/result.h"
#include "lanista/io/store/log.h"
#include "lanista/search/study/study_view.h"

namespace lanista::engine {

class StudyState;

/// Reads a study while another thread or process works on it. It reads the log without the lock, and only records that
/// are new. Movable. Not thread-safe.
class StudyFollower {
 public:
  /// Opens a study folder and reads its current log. `fs` outlives this. Errors: those of store::read_log (kNotFound,
  /// kDataLoss, kFailedPrecondition, kIo) and fold() (kDataLoss).
  static Result<StudyFollower> open(FileSystem& fs, const std::string& folder);
  StudyFollower(StudyFollower&&) noexcept;
  StudyFollower& operator=(StudyFollower&&) noexcept;
  ~StudyFollower();

  /// The state of the study at the last read. The reference is valid as long as this object; refresh() changes the
  /// view.
  const study::StudyView& view() const;
  /// Reads new records. Returns true if there were any. Errors: those of open(); the view is then invalid.
  Result<bool> refresh();

 private:
  StudyFollower(FileSystem& fs, const std::string& folder);
  store::LogFollower log_;
  std::unique_ptr<StudyState> state_;
  std::size_t records_ = 0;
};

}  // namespace lanista::engine
