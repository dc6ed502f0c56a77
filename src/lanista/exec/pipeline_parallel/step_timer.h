#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "lanista/exec/pipeline_parallel/stages.h"

namespace lanista::nn {

/// When the passes of a program's step in stages began and ended. A few whole steps behind the first ones are timed,
/// each place reading the clock of the machine, which threads and processes share; the one in the middle by what it
/// took is told, once. Steps that are not timed cost a look at a flag. Each place writes its own row in memory that all
/// see; whoever begins steps reads them. Asks for no memory during steps.
class StepTimer {
 public:
  StepTimer() = default;
  /// Of a program whose batches have at most so many samples.
  StepTimer(const Stages& stages, std::int64_t batch);

  /// Of the memory, aligned to 8.
  std::int64_t bytes() const;

  /// A place's row in the step under way.
  class Row {
   public:
    explicit Row(std::int64_t* at) : at_(at) {}
    void record_begin(std::size_t pass) const { note(2 * pass); }
    void record_end(std::size_t pass) const { note(2 * pass + 1); }

   private:
    void note(std::size_t at) const;
    std::int64_t* at_;  // nanoseconds; null: the step is not timed
  };
  Row row(std::byte* at, std::size_t rank) const;

  // Of whoever begins steps.
  /// Before places begin. A step that is not whole, or that nobody ends, is not timed, or for nothing.
  void begin(std::byte* at, bool is_whole);
  /// When all places have ended.
  void end(const std::byte* at);
  /// Once there is something to tell.
  std::optional<StepTimes> take_step_times();

 private:
  static constexpr std::int64_t kWarmUp = 2;  // steps
  static constexpr std::size_t kTimedSteps = 5;    // steps

  Stages stages_;
  std::int64_t batch_ = 0;
  std::vector<std::size_t> first_pass_of_rank_;  // of each place's passes among those of all, and how many there are
  std::int64_t num_whole_steps_ = 0;          // steps that were begun
  std::size_t num_timed_ = 0;           // of them that were kept
  bool is_reported_ = false;
  std::array<std::vector<std::int64_t>, kTimedSteps> timed_steps_;
};

}  // namespace lanista::nn
