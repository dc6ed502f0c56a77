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

/// Reads a study while another thread or process works on it. It reads the log without the lock, and only new records.
class StudyFollower {
 public:
  /// Reads the current log. Errors: those of store::read_log and fold().
  static Result<StudyFollower> open(FileSystem& fs, const std::string& folder);
  StudyFollower(StudyFollower&&) noexcept;
  StudyFollower& operator=(StudyFollower&&) noexcept;
  ~StudyFollower();

  /// The state of the study at the last read.
  const study::StudyView& view() const;
  /// Reads new records. Returns whether there were any. Errors: those of open(); the view is then invalid.
  Result<bool> refresh();

 private:
  StudyFollower(FileSystem& fs, const std::string& folder);
  store::LogFollower log_;
  std::unique_ptr<StudyState> state_;
  std::size_t records_ = 0;
};

}  // namespace lanista::engine
