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

/// A study that somebody works on, here or in another process, as its log tells it so far. Reads without the lock, and
/// only what is new.
class StudyFollower {
 public:
  /// Reads what there is. Errors: those of store::read_log and fold.
  static Result<StudyFollower> open(FileSystem& fs, const std::string& folder);
  StudyFollower(StudyFollower&&) noexcept;
  StudyFollower& operator=(StudyFollower&&) noexcept;
  ~StudyFollower();

  const study::StudyView& view() const;
  /// Reads on; whether anything came. Errors: as of open; the view is then not to be looked at any more.
  Result<bool> refresh();

 private:
  StudyFollower(FileSystem& fs, const std::string& folder);
  store::LogFollower log_;
  std::unique_ptr<StudyState> state_;
  std::size_t records_ = 0;
};

}  // namespace lanista::engine
