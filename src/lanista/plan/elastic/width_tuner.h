#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>

namespace lanista::schedule {

/// With how many workers the steps of a program are shortest, found out while it trains: some epochs alone, some
/// shared, and what is shorter by 5 % is kept. It decides how long a study takes, and no result: a fold over what
/// epochs took, without a clock.
///
/// Widths are tried from below, each twice as wide as the last; one that gains nothing over the best so far ends the
/// search. Of each the median of its last five epochs counts, so what was known before is believed no longer than it
/// holds. Of two widths the one in force stays until the other is 5 % better, and what was given up is tried again
/// after 64 epochs of the program, then after twice as many, 4096 at most: another program may have left the machine.
class WidthTuner {
 public:
  static constexpr double kMinGain = 1.05;
  static constexpr std::size_t kEpochsPerTry = 2, kWindow = 5;  ///< epochs
  static constexpr std::int64_t kRetryEpochs = 64, kMaxRetryEpochs = 4096;

  /// Seconds of a step by width, of earlier studies. Before the program's first epoch; later it does nothing.
  void set_known_seconds(const std::string& program, const std::map<std::int64_t, double>& seconds);
  /// An epoch whose steps took so long each.
  void observe(const std::string& program, std::int64_t width, double seconds);
  /// For the next epoch, 1 to `most`.
  std::int64_t next_width(const std::string& program, std::int64_t most) const;
  /// Seconds of a step by width, as far as they are known.
  std::map<std::int64_t, double> seconds(const std::string& program) const;

 private:
  struct Program {
    std::map<std::int64_t, std::deque<double>> last_epochs;  // of each width, its last epochs
    std::int64_t current_width = 1;
    std::int64_t epochs_until_retry = kRetryEpochs, retry_interval = kRetryEpochs;  // epochs
  };
  static double step_of(const std::deque<double>& last_epochs);

  std::map<std::string, Program> programs_;
};

}  // namespace lanista::schedule
