#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "lanista/exec/pipeline_parallel/stages.h"

namespace lanista::program {

/// A timer for the passes of a program's steps in stages.
///
/// After 2 whole steps it times 5 whole steps. It returns the one with the median duration, once. Every rank reads the
/// monotonic clock of the machine, which threads and processes share, and writes its own row of the shared memory. Rank
/// 0 reads the rows. In a step that is not timed, a rank only reads one flag. Allocates no memory during steps.
class StepTimer {
 public:
  StepTimer() = default;  ///< A timer for no ranks, which never has a result.
  /// A timer for batches of at most `batch` samples.
  StepTimer(const Stages& stages, std::int64_t batch);

  /// Bytes of the memory `at` that the functions below receive, which must be aligned to 8.
  std::int64_t bytes() const;

  /// The part of the memory in which one rank writes the times of its passes in the current step.
  class Row {
   public:
    explicit Row(std::int64_t* at) : at_(at) {}
    /// Records the begin of the pass with index `pass` in the rank's list, if the step is timed.
    void record_begin(std::size_t pass) const { note(2 * pass); }
    /// Records the end of the pass with index `pass` in the rank's list, if the step is timed.
    void record_end(std::size_t pass) const { note(2 * pass + 1); }

   private:
    void note(std::size_t at) const;
    std::int64_t* at_;  // nanoseconds; null: the step is not timed
  };
  /// Returns the row of rank `rank` in the timer's memory `at`.
  Row row(std::byte* at, std::size_t rank) const;

  // For rank 0:

  /// Called before the ranks begin a step. `is_whole`: the step has a batch of full size. Only whole steps are timed; a
  /// step without end() does not count among the 5.
  void begin(std::byte* at, bool is_whole);
  /// Called when all ranks have ended the step: rank 0 copies the times of a timed step.
  void end(const std::byte* at);
  /// Returns the times of the median step, once, after all timed steps; nothing before and after that.
  std::optional<StepTimes> take_step_times();

 private:
  static constexpr std::int64_t kWarmUp = 2;     // steps
  static constexpr std::size_t kTimedSteps = 5;  // steps

  Stages stages_;
  std::int64_t batch_ = 0;
  std::vector<std::size_t> first_pass_of_rank_;  // index among the passes of all ranks; last: their number
  std::int64_t num_whole_steps_ = 0;             // begun so far
  std::size_t num_timed_ = 0;                    // timed so far
  bool is_reported_ = false;
  std::array<std::vector<std::int64_t>, kTimedSteps> timed_steps_;
};

}  // namespace lanista::program
