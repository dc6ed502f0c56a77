#pragma once

#include <string>

#include "lanista/app/cli/terminal.h"
#include "lanista/base/clock.h"
#include "lanista/engine/core/engine.h"

namespace lanista::cli {

/// How Progress shows a study.
enum class ProgressStyle {
  kLive,   ///< A live block on a terminal.
  kLines,  ///< One line for each trial that ends, and one a minute.
  kJson,   ///< One JSON event a line.
  kQuiet   ///< No output.
};

/// Shows a running study on stderr: a live block that changes at most four times a second, or one line for each trial
/// that ends and one a minute. With kJson it prints one event a line on stdout: proposed, metric, ended, paused or
/// resumed, with "t", the seconds since the start.
class Progress {
 public:
  /// `clock` must outlive the object. Shows nothing yet.
  Progress(ProgressStyle style, Terminal terminal, const Clock& clock);

  /// Shows an event of the study; `view` is the study after it.
  void on_event(const engine::StudyView& view, const study::Event& event);
  /// Updates the live block, or prints the line of the minute. The engine calls it while it waits.
  void on_idle(const engine::StudyView& view);
  /// Removes the live block, so that later output starts on an empty line.
  void finish();

 private:
  std::string status_line(const engine::StudyView& view) const;
  void redraw(const engine::StudyView& view);
  void print_line(const engine::StudyView& view, const study::Ended& ended);
  void print_json(const engine::StudyView& view, const study::Event& event);

  ProgressStyle style_;
  Terminal terminal_;
  const Clock& clock_;
  double start_seconds_;
  double last_redraw_seconds_ = 0;
  bool block_shown_ = false;
  std::size_t ended_ = 0;
  std::optional<TrialId> best_;
  double best_value_ = 0;
};

}  // namespace lanista::cli
