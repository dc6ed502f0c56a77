#pragma once

#include <optional>
#include <string>
#include <thread>

#include "lanista/base/clock.h"
#include "lanista/base/file_system.h"
#include "lanista/base/result.h"
#include "lanista/engine/core/study_follower.h"

namespace lanista::cli {

/// The page of a study under way, written anew as its log grows: not oftener than every second, and in not more than a
/// tenth of the time. The page reloads itself.
class LivePage {
 public:
  /// Writes the page as the study stands. Errors: of engine::StudyFollower::open, kIo, kResourceExhausted.
  static Result<LivePage> open(FileSystem& fs, const Clock& clock, std::string folder, std::string path);

  const study::StudyView& view() const { return follower_.view(); }
  const std::string& path() const { return path_; }
  /// Writes the page if there is something new and it is time; whether it did. Cheap to ask. Errors: as of open.
  Result<bool> refresh();
  /// Writes it for the last time, as one that does not reload itself.
  Result<void> finish();

 private:
  LivePage(FileSystem& fs, const Clock& clock, std::string folder, std::string path, engine::StudyFollower follower);
  Result<void> write(bool live);
  void schedule_next_write(double cost);

  std::shared_ptr<FileSystem> fs_;
  const Clock* clock_;
  std::string folder_, path_;
  engine::StudyFollower follower_;
  double next_write_seconds_ = 0;  ///< clock's seconds before which nothing is done
  double interval_seconds_ = 1;    ///< between two pages, at least
};

/// A thread that keeps the page of a study fresh while this process works on it, on its own copy of the log: the engine
/// knows nothing of it. What goes wrong with the page is told on stderr, once, and never ends a run.
class LivePageThread {
 public:
  /// Begins, and opens the page where there is something to open it with; says where it is otherwise.
  LivePageThread(FileSystem& fs, const Clock& clock, std::string folder, std::string path, bool quiet);
  /// Ends the thread and writes the page for the last time.
  ~LivePageThread();
  LivePageThread(const LivePageThread&) = delete;
  LivePageThread& operator=(const LivePageThread&) = delete;

 private:
  std::optional<LivePage> page_;
  std::jthread thread_;
};

/// Opens a file with the desktop's own program (xdg-open, open), apart from this process: it does not wait, hears no
/// Ctrl-C of ours, and writes nowhere. False where there is no such program, or no desktop.
bool open_on_desktop(const std::string& path);

}  // namespace lanista::cli
