#pragma once

#include <cstddef>
#include <map>
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
  static constexpr std::size_t kMaxWorkers = 64;
  static constexpr std::size_t kMaxLanes = 64;

  /// Opens `file` for appending and installs the handlers. Errors: kIo, kFailedPrecondition (a second instance).
  static Result<CrashMarks> install(const std::string& file);
  CrashMarks(CrashMarks&& other) noexcept;
  CrashMarks& operator=(CrashMarks&&) = delete;
  ~CrashMarks();  ///< restores the default handlers

  /// The worker now runs these trials, kMaxLanes of them at most. Wait-free.
  void running(std::size_t worker, std::span<const TrialId> trials);

 private:
  CrashMarks() = default;
  bool owner_ = true;
};

/// How often each trial was running in a crash. A missing file means never. Errors: kIo.
Result<std::map<TrialId, int>> read_crash_marks(FileSystem& fs, const std::string& file);

}  // namespace lanista::runtime
