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

/// Records the running trials when the process dies of SIGSEGV, SIGBUS, SIGFPE or SIGABRT. A trial that crashes the
/// process every time can thus be given up. A kill from outside leaves no mark. One instance at a time.
class CrashMarks {
 public:
  static constexpr std::size_t kMaxWorkers = 256;  ///< Workers of all devices together.
  static constexpr std::size_t kMaxLanes = 64;     ///< Trials of one worker.

  /// Opens `file`, which is below the study's folder, for appending, and installs the signal handlers. Errors: kIo,
  /// kDataLoss (a link, a FIFO or another user's file is in the way), kFailedPrecondition (a second instance).
  static Result<CrashMarks> install(const std::string& study_folder, const std::string& file);
  CrashMarks(CrashMarks&& other) noexcept;
  CrashMarks& operator=(CrashMarks&&) = delete;
  /// Restores the default handlers.
  ~CrashMarks();

  /// Sets the running trials of a worker, at most kMaxLanes. Wait-free.
  void set_running(std::size_t worker, std::span<const TrialId> trials);

 private:
  CrashMarks() = default;
  bool owner_ = true;
};

/// The number of crashes in which each trial was running. A missing file counts as no crash. Errors: kIo.
Result<std::map<TrialId, int>> read_crash_marks(FileSystem& fs, const std::string& file);

/// The crash marks of a study, shared by its executors in this process. The first started trial installs them, so a
/// refused study leaves no file. After begin() any thread may call set_running().
class StudyMarks {
 public:
  /// Marks in control/crash.marks of the study folder.
  StudyMarks(FileSystem& fs, const std::string& study_folder)
      : fs_(fs.confined_to(study_folder)), study_(study_folder), file_(study_folder + "/control/crash.marks") {}

  /// Installs the marks at the first call. Errors: those of read_crash_marks and CrashMarks::install.
  Result<void> begin();
  /// The number of crashes in which the trial was running.
  int crashes(TrialId trial) const;
  /// Sets the running trials of a worker.
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
