#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "lanista/base/result.h"
#include "lanista/plan/pipeline/simulate.h"

namespace lanista::pipeline {

/// A step of a plan as it was simulated and as it was, pass by pass: what a log keeps of it and people are shown.
struct TimedStep {
  struct Stage {
    std::string operators;                  ///< for people: "%1 linear .. %5 relu"
    std::int64_t count = 1;                 ///< of operators
    std::int64_t micro_batch = 1;           ///< samples
    std::int64_t in_flight = 1;             ///< samples, at most
    std::vector<std::uint32_t> successors;  ///< of higher numbers, ascending
    bool operator==(const Stage&) const = default;
  };
  /// One pass; seconds from the beginning of the first one.
  struct Pass {
    ActionKind kind = ActionKind::kForward;  ///< of computations alone
    std::uint32_t stage = 0, micro = 0;
    double simulated_begin = 0, simulated_end = 0;
    double begin = 0, end = 0;
    bool operator==(const Pass&) const = default;
  };
  std::int64_t batch = 1;
  std::vector<Stage> stages;
  std::vector<std::vector<Pass>> ranks;
  bool operator==(const TimedStep&) const = default;

  SimulationResult simulated() const;  ///< its spans, seconds and busy seconds
  SimulationResult measured() const;
  /// Measured over simulated: of the whole step, and of all passes of a stage. 0 where nothing was simulated.
  double ratio() const;
  double ratio_of(std::uint32_t stage) const;
};

/// What a record may hold.
inline constexpr std::size_t kMaxTimedStages = 512, kMaxTimedRanks = 64, kMaxTimedPasses = 4096;
/// Whether the step is one that `read_timed_step` takes.
bool fits_record(const TimedStep& step);

/// {"batch", "stages": [[operators, count, micro_batch, in_flight, [successors]], ...], "places": [[[kind, stage,
/// micro, simulated begin, its end, begin, end], ...], ...]}; times are whole tenths of a microsecond.
nlohmann::json timed_step_json(const TimedStep& step);
/// Errors: kDataLoss naming what is wrong and what is allowed; more than a record may hold.
Result<TimedStep> read_timed_step(const nlohmann::json& json);

/// The stage graph as a table, a line a stage, with what its passes took, simulated and measured.
std::string stages_text(const TimedStep& step);
/// Gantt charts of a step, as it was simulated above as it was.
std::string charts_text(const TimedStep& step);

}  // namespace lanista::pipeline
