#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "lanista/base/file_system.h"
#include "lanista/base/id.h"
#include "lanista/base/result.h"

namespace lanista::runtime {

/// Writes the ids of the running trials to a file when the process dies of SIGSEGV, SIGBUS, SIGFPE or SIGABRT. A trial
/// that crashes the process every time can thus be given up. A kill from outside leaves no mark. One instance in a
/// process at a time.
class CrashMarks {
 public:
  /// Number of workers of all devices together; higher indices wrap around.
  static constexpr std::size_t kMaxWorkers = 256;
  static constexpr std::size_t kMaxLanes = 64;  ///< Most trials of one worker; others leave no mark.

  /// Opens `file`, which is below the study's folder, for appending, and installs the signal handlers. Errors: kIo,
  /// kDataLoss (a link, a FIFO or another user's file is in the way), kFailedPrecondition (another instance exists in
  /// this process).
  static Result<CrashMarks> install(const std::string& study_folder, const std::string& file);
  CrashMarks(CrashMarks&& other) noexcept;
  CrashMarks& operator=(CrashMarks&&) = delete;
  /// Restores the default handlers and closes the file.
  ~CrashMarks();

  /// Replaces the running trials of the worker with this index, of which the first kMaxLanes count. Wait-free; each
  /// worker's thread may call it.
  void set_running(std::size_t worker, std::span<const TrialId> trials);

 private:
  CrashMarks() = default;
  bool owner_ = true;
};

/// For each marked trial, the number of crashes in which it was running. A missing file gives an empty map. Errors:
/// those of FileSystem::read, such as kIo.
Result<std::map<TrialId, int>> read_crash_marks(FileSystem& fs, const std::string& file);

/// The crash marks of a study, which its executors in this process share. The first started trial installs them, so a
/// refused study leaves no file. After begin() any thread may call set_running().
class StudyMarks {
 public:
  /// Uses control/crash.marks of the study folder. Nothing is read or written before begin().
  StudyMarks(FileSystem& fs, const std::string& study_folder)
      : fs_(fs.confined_to(study_folder)), study_(study_folder), file_(study_folder + "/control/crash.marks") {}

  /// Reads earlier marks and installs the handlers at the first call; later calls have no effect. Errors: those of
  /// read_crash_marks and CrashMarks::install.
  Result<void> begin();
  /// The number of earlier crashes in which the trial was running, as read by begin().
  int crashes(TrialId trial) const;
  /// Replaces the running trials of a worker. Before begin() it has no effect.
  void set_running(std::size_t worker, std::span<const TrialId> trials) {
    if (marks_) marks_->set_running(worker, trials);
  }

 private:
  const std::shared_ptr<FileSystem> fs_;
  const std::string study_, file_;
  std::optional<CrashMarks> marks_;
  std::map<TrialId, int> crashes_;
};

}  // namespace lanista::runtime
