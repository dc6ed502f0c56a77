#pragma once

#include <cstdint>
#include <vector>

#include "lanista/plan/pipeline/pareto_search.h"
#include "lanista/plan/pipeline/plan.h"

namespace lanista::pipeline {

/// Stages in no order, with devices by number only.
struct Draft {
  struct Part {
    std::vector<std::uint32_t> operators;
    std::size_t device_class = 0;
    std::int64_t degree = 1;
    std::uint32_t rank = 0;  ///< parts of one number from 1 on share their devices; they have one class and degree
    bool operator==(const Part&) const = default;
  };
  std::vector<Part> parts;
  std::int64_t micro_batch = 1;
  bool limits_in_flight = false;  ///< where memory ends, stages have fewer samples in flight (limit_in_flight)
  bool operator==(const Draft&) const = default;
};
/// Guests (StageRange::degree of 0) go to the stage with the least to do of those that they read or that read them and
/// that have memory for their parameters; to any other if none of these has. No parts where all would be guests.
Draft draft_of(const std::vector<StageRange>& stage_ranges, const std::vector<std::uint32_t>& order,
               std::int64_t micro_batch, const Problem& problem);
/// The plan of a draft: devices are dealt out in dependency order, so that neighbours share machines. Errors: as
/// `arranged`; kResourceExhausted where there are too few devices.
Result<PipelinePlan> plan_of(const Draft& draft, const Problem& problem);

/// A draft and what its step takes under kFkB.
struct ScoredDraft {
  Draft draft;
  double seconds = 1e300;  ///< 1e300: not a plan, or it does not fit
  double imbalance = 0;    ///< sum of squares of the stages' times: decides between equals
};
ScoredDraft score_draft(Draft draft, const Problem& problem);

/// Moves operators between stages, devices between stages, cuts stages, draws them together and lodges what waits for
/// other stages, or what these wait for, as a stage of its own on the same devices, as long as the step gets shorter
/// (first improvement, in a fixed order), at most `trials` simulations, which are subtracted.
ScoredDraft improve_draft(ScoredDraft start, const Problem& problem, std::int64_t& trials,
                          bool allows_colocation = true);

}  // namespace lanista::pipeline
