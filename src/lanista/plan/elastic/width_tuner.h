#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>

namespace lanista::plan {

/// Finds the number of workers with which the steps of a program are shortest, while it trains. Not thread-safe.
///
/// It is a fold over the times of epochs, without a clock. It changes how long a study runs, and no result.
///
/// Widths are tried from 1 on, each twice the last one; the largest allowed width is tried, too. A width without gain
/// over the best so far ends the search. The time of a width is the median of its last five epochs. The current width
/// is replaced only by one that is 5 % faster. Other widths are tried again after 64 epochs of the program, then after
/// twice as many, up to 4096, since other programs may have left the machine.
class WidthTuner {
 public:
  static constexpr double kMinGain = 1.05;               ///< Least speed-up by which a new width replaces another one.
  static constexpr std::size_t kEpochsPerTry = 2;        ///< Epochs for which a width is tried.
  static constexpr std::size_t kWindow = 5;              ///< Last epochs of each width that are kept.
  static constexpr std::int64_t kRetryEpochs = 64;       ///< Epochs until the first retry.
  static constexpr std::int64_t kMaxRetryEpochs = 4096;  ///< Most epochs between retries.

  /// Sets the seconds of a step by width, from earlier studies. It does nothing if the program is known already. Widths
  /// or times below or at 0 are ignored. `program` is any key that names it.
  void set_known_seconds(const std::string& program, const std::map<std::int64_t, double>& seconds);
  /// Adds an epoch of a program at this width with these mean seconds of a step. A width or time below or at 0 is
  /// ignored.
  void observe(const std::string& program, std::int64_t width, double seconds);
  /// Returns the width for the next epoch of a program, from 1 to `most`; 1 for an unknown program.
  std::int64_t next_width(const std::string& program, std::int64_t most) const;
  /// Returns the median seconds of a step in the kept epochs, by width; empty for an unknown program.
  std::map<std::int64_t, double> seconds(const std::string& program) const;

 private:
  struct Program {
    std::map<std::int64_t, std::deque<double>> last_epochs;  // Seconds of a step in the last epochs, by width.
    std::int64_t current_width = 1;
    std::int64_t epochs_until_retry = kRetryEpochs, retry_interval = kRetryEpochs;  // In epochs.
  };
  static double step_of(const std::deque<double>& last_epochs);

  std::map<std::string, Program> programs_;
};

}  // namespace lanista::plan
