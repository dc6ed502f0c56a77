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

/// Remembers which trials were running when the process died of its own fault (SIGSEGV, SIGBUS, SIGFPE, SIGABRT), so
/// that a trial which kills the process every time is given up on. A plain kill leaves no mark. One instance at a time.
class CrashMarks {
 public:
  static constexpr std::size_t kMaxWorkers = 256;  ///< of all devices together
  static constexpr std::size_t kMaxLanes = 64;

  /// Opens `file`, which is below the study's folder, for appending, and installs the handlers. Errors: kIo, kDataLoss (a
  /// link, a FIFO or another user's file is in the way), kFailedPrecondition (a second instance).
  static Result<CrashMarks> install(const std::string& study_folder, const std::string& file);
  CrashMarks(CrashMarks&& other) noexcept;
  CrashMarks& operator=(CrashMarks&&) = delete;
  ~CrashMarks();  ///< restores the default handlers

  /// The worker now runs these trials, kMaxLanes of them at most. Wait-free.
  void set_running(std::size_t worker, std::span<const TrialId> trials);

 private:
  CrashMarks() = default;
  bool owner_ = true;
};

/// How often each trial was running in a crash. A missing file means never. Errors: kIo.
Result<std::map<TrialId, int>> read_crash_marks(FileSystem& fs, const std::string& file);

/// The marks of a study, which its executors in this process share. They are installed when the first trial is started:
/// a refused study leaves no file behind. From then on any thread may mark.
class StudyMarks {
 public:
  StudyMarks(FileSystem& fs, const std::string& study_folder)
      : fs_(fs.confined_to(study_folder)), study_(study_folder), file_(study_folder + "/control/crash.marks") {}

  /// Nothing happens but the first time. Errors: those of read_crash_marks and CrashMarks::install.
  Result<void> begin();
  /// In how many crashes the trial was running.
  int crashes(TrialId trial) const;
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
