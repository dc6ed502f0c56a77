#pragma once

#include <string>

#include "lanista/app/cli/terminal.h"
#include "lanista/base/clock.h"
#include "lanista/engine/core/engine.h"

namespace lanista::cli {

enum class ProgressStyle { kLive, kLines, kJson, kQuiet };

/// Shows a running study: a live block on a terminal (at most four times a second), else one line a finished trial and
/// one a minute on stderr; with kJson one event a line on stdout.
class Progress {
 public:
  Progress(ProgressStyle style, Terminal terminal, const Clock& clock);

  void on_event(const engine::StudyView& view, const study::Event& event);
  void on_idle(const engine::StudyView& view);
  /// Removes the live block, so that what follows stands on clean lines.
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
