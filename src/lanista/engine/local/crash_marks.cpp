#include "lanista/engine/local/crash_marks.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <sstream>
#include <utility>

#include "lanista/base/file_location.h"

namespace lanista::runtime {
namespace {

constexpr std::array kSignals{SIGSEGV, SIGBUS, SIGFPE, SIGABRT};

// A signal handler can access only static variables; this is the only place that has them.
std::atomic<int> mark_file{-1};
std::array<std::atomic<std::uint32_t>, CrashMarks::kMaxWorkers * CrashMarks::kMaxLanes>
    running_trials{};  // 0: no trial

// Only async-signal-safe calls here: no allocation, no stdio.
void write_mark(int file, std::uint32_t trial) {
  std::array<char, 16> text{};
  std::size_t at = text.size();
  text[--at] = '\n';
  do {
    text[--at] = static_cast<char>('0' + trial % 10);
    trial /= 10;
  } while (trial != 0);
  [[maybe_unused]] const ssize_t written = ::write(file, text.data() + at, text.size() - at);
}

void on_crash(int signal) {
  const int file = mark_file.load();
  if (file >= 0) {
    for (const auto& slot : running_trials) {
      if (const std::uint32_t trial = slot.load(); trial != 0) write_mark(file, trial);
    }
    ::fsync(file);
  }
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

}  // namespace

Result<CrashMarks> CrashMarks::install(const std::string& study_folder, const std::string& file) {
  constexpr mode_t kMode = 0600;
  LANISTA_ASSIGN(const FileLocation location, ConfiningFolder(study_folder).locate(file));
  LANISTA_ASSIGN(Descriptor opened, open_at(location, O_WRONLY | O_CREAT | O_APPEND, kMode, "cannot open"));
  int none = -1;
  if (mark_file.compare_exchange_strong(none, opened.get())) {
    static_cast<void>(opened.release());
  } else {
    return Error{Code::kFailedPrecondition, "crash marks are already installed in this process", file};
  }
  struct sigaction action {};
  action.sa_handler = on_crash;
  sigemptyset(&action.sa_mask);
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (const int signal : kSignals) ::sigaction(signal, &action, nullptr);
  return CrashMarks();
}

CrashMarks::CrashMarks(CrashMarks&& other) noexcept : owner_(other.owner_) { other.owner_ = false; }

CrashMarks::~CrashMarks() {
  if (!owner_) return;
  for (const int signal : kSignals) ::signal(signal, SIG_DFL);
  for (auto& slot : running_trials) slot = 0;
  if (const int file = mark_file.exchange(-1); file >= 0) ::close(file);
}

void CrashMarks::set_running(std::size_t worker, std::span<const TrialId> trials) {
  const std::size_t first = worker % kMaxWorkers * kMaxLanes;
  for (std::size_t i = 0; i < kMaxLanes; ++i) running_trials[first + i] = i < trials.size() ? trials[i].value : 0;
}

Result<std::map<TrialId, int>> read_crash_marks(FileSystem& fs, const std::string& file) {
  std::map<TrialId, int> marks;
  if (!fs.exists(file)) return marks;
  LANISTA_ASSIGN(const auto text, fs.read(file));
  std::istringstream lines(text);
  std::uint32_t trial = 0;
  while (lines >> trial) ++marks[TrialId{trial}];
  return marks;
}

Result<void> StudyMarks::begin() {
  if (marks_) return {};
  LANISTA_TRY(fs_->make_folder(study_ + "/control"));
  LANISTA_ASSIGN(crashes_, read_crash_marks(*fs_, file_));
  LANISTA_ASSIGN(auto installed, CrashMarks::install(study_, file_));
  marks_.emplace(std::move(installed));
  return {};
}

int StudyMarks::crashes(TrialId trial) const {
  const auto it = crashes_.find(trial);
  return it == crashes_.end() ? 0 : it->second;
}

}  // namespace lanista::runtime
