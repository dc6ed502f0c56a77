#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "lanista/base/result.h"
#include "lanista/plan/pipeline/simulate.h"

namespace lanista::pipeline {

/// A step of a plan with the simulated and the measured time of each pass, for logs and people.
struct TimedStep {
  /// A stage of the plan, as a record stores it.
  struct Stage {
    std::string operators;                  ///< Its operators, for people: "%1 linear .. %5 relu".
    std::int64_t count = 1;                 ///< Number of its operators.
    std::int64_t micro_batch = 1;           ///< Samples of a micro-batch.
    std::int64_t in_flight = 1;             ///< Most samples in flight.
    std::vector<std::uint32_t> successors;  ///< Numbers of stages that wait for it, ascending.
    bool operator==(const Stage&) const = default;
  };
  /// One pass. Times are seconds from the start of the first one.
  struct Pass {
    ActionKind kind = ActionKind::kForward;  ///< Kind of the computation.
    std::uint32_t stage = 0;                 ///< Index of its stage in `stages`.
    std::uint32_t micro = 0;                 ///< Number of its micro-batch, from 0.
    double simulated_begin = 0;              ///< Simulated start.
    double simulated_end = 0;                ///< Simulated end.
    double begin = 0;                        ///< Measured start.
    double end = 0;                          ///< Measured end.
    bool operator==(const Pass&) const = default;
  };
  std::int64_t batch = 1;                ///< Samples of the step.
  std::vector<Stage> stages;             ///< The stages.
  std::vector<std::vector<Pass>> ranks;  ///< For each rank: its passes, in the order in which they ran.
  bool operator==(const TimedStep&) const = default;

  /// Returns the simulated times: spans, seconds and busy seconds. Other fields of the result stay empty.
  SimulationResult simulated() const;
  /// Returns the measured times: spans, seconds and busy seconds. Other fields of the result stay empty.
  SimulationResult measured() const;
  /// Returns measured over simulated seconds of the whole step; 0 if nothing was simulated.
  double ratio() const;
  /// Returns measured over simulated seconds of all passes of stage number `stage`; 0 if nothing was simulated.
  double ratio_of(std::uint32_t stage) const;
};

/// Most stages, ranks and passes of a step in a log record.
inline constexpr std::size_t kMaxTimedStages = 512, kMaxTimedRanks = 64, kMaxTimedPasses = 4096;
/// Returns true if the step is small enough for a log record, so that read_timed_step accepts its JSON.
bool fits_record(const TimedStep& step);

/// Returns a step as JSON, with times in tenths of a microsecond.
///
/// {"batch", "stages": [[operators, count, micro_batch, in_flight, [successors]], ...], "places": [[[kind, stage,
/// micro, simulated begin, simulated end, begin, end], ...], ...]}. "places" are the ranks. A kind is its number in
/// ActionKind. Names of operators are cut after 200 bytes.
nlohmann::json timed_step_json(const TimedStep& step);
/// Reads the JSON of timed_step_json. Errors: kDataLoss with the member and what is allowed, also for steps that exceed
/// a record.
Result<TimedStep> read_timed_step(const nlohmann::json& json);

/// Returns the stages as a table for people, with the mean simulated and measured milliseconds of a pass.
std::string stages_text(const TimedStep& step);
/// Returns the Gantt charts of the simulated and of the measured step, for people.
std::string charts_text(const TimedStep& step);

}  // namespace lanista::pipeline
