#pragma once

#include <optional>
#include <string>
#include <thread>

#include "lanista/base/clock.h"
#include "lanista/base/file_system.h"
#include "lanista/base/result.h"
#include "lanista/engine/core/study_follower.h"

namespace lanista::cli {

/// The report page of a running study. It is written again while the log grows: at most once a second, and with at most
/// a tenth of the time for writing. The page reloads itself in the browser.
class LivePage {
 public:
  /// Writes the page in the current state; refresh() writes it again. `fs` and `clock` must outlive the object. Errors:
  /// those of engine::StudyFollower::open, kIo, kResourceExhausted.
  static Result<LivePage> open(FileSystem& fs, const Clock& clock, std::string folder, std::string path);

  const study::StudyView& view() const { return follower_.view(); }  ///< The study as of the last refresh.
  const std::string& path() const { return path_; }                  ///< Path of the HTML file.
  /// Writes the page if the log has grown and the interval has passed. True if it wrote the page. A call before the end
  /// of the interval reads only the clock. Errors: those of open().
  Result<bool> refresh();
  /// Writes the page for the last time; it then does not reload itself any more. Errors: those of open().
  Result<void> finish();

 private:
  LivePage(FileSystem& fs, const Clock& clock, std::string folder, std::string path, engine::StudyFollower follower);
  Result<void> write(bool live);
  void schedule_next_write(double cost);

  std::shared_ptr<FileSystem> fs_;
  const Clock* clock_;
  std::string folder_, path_;
  engine::StudyFollower follower_;
  double next_write_seconds_ = 0;  ///< Time of the clock before which refresh() does nothing.
  double interval_seconds_ = 1;    ///< Least time between two pages.
};

/// A thread that updates the report page of the study that this process runs. It reads the log by itself, independent
/// of the engine. An error of the page is printed on stderr and ends the updates, never the run.
class LivePageThread {
 public:
  /// Starts the thread and opens the page in a browser, if there is one. Unless `quiet`, prints the path of the page.
  LivePageThread(FileSystem& fs, const Clock& clock, std::string folder, std::string path, bool quiet);
  /// Stops the thread and, if the page could be opened, writes it for the last time, also after an error.
  ~LivePageThread();
  LivePageThread(const LivePageThread&) = delete;
  LivePageThread& operator=(const LivePageThread&) = delete;

 private:
  std::optional<LivePage> page_;
  std::jthread thread_;
};

/// Opens a file with the program of the desktop (xdg-open, open) in a separate session, so that Ctrl-C does not reach
/// it. It does not wait, and the output of the program is discarded. Returns false if there is no such program or no
/// desktop.
bool open_on_desktop(const std::string& path);

}  // namespace lanista::cli
