#pragma once

#include <cstdint>
#include <vector>

#include "lanista/plan/pipeline/pareto_search.h"
#include "lanista/plan/pipeline/plan.h"

namespace lanista::pipeline {

/// A plan in which stages have no order yet, and a number of devices instead of device numbers.
struct Draft {
  /// A stage of a draft.
  struct Part {
    std::vector<std::uint32_t> operators;  ///< Numbers of its operators.
    std::size_t device_class = 0;          ///< Index of the class of its devices.
    std::int64_t degree = 1;               ///< Number of its devices.
    std::uint32_t rank = 0;  ///< 0: own devices; parts of equal numbers share devices, and have one class and degree.
    bool operator==(const Part&) const = default;
  };
  std::vector<Part> parts;        ///< The stages.
  std::int64_t micro_batch = 1;   ///< Samples of a micro-batch.
  bool limits_in_flight = false;  ///< True: stages have fewer samples in flight where memory ends (limit_in_flight).
  bool operator==(const Draft&) const = default;
};
/// Returns a result of the Pareto search, stages as ranges of operators in `order`, as a draft: the operators, device
/// class and number of devices of each stage. It has no parts if all stages would be co-located.
///
/// A co-located stage (degree 0) goes to the least busy stage that it reads or that reads it, among those with memory
/// for its parameters. If there is none, it goes to the least busy stage of all.
Draft draft_of(const std::vector<StageRange>& stage_ranges, const std::vector<std::uint32_t>& order,
               std::int64_t micro_batch, const Problem& problem);
/// Returns the plan of a draft: its stages, ordered by dependency by arranged(), each with numbered devices. Devices
/// are assigned in this order, so that neighbours share machines.
///
/// Errors: those of arranged(); kResourceExhausted if there are too few devices.
Result<PipelinePlan> plan_of(const Draft& draft, const Problem& problem);

/// A draft with the simulated time of its step under kFkB.
struct ScoredDraft {
  Draft draft;             ///< The draft.
  double seconds = 1e300;  ///< Seconds of a step; 1e300 if it is not a plan or does not fit into memory.
  double imbalance = 0;    ///< Sum of the squared seconds of its stages; decides between equal steps.
};
/// Returns the draft with its simulated step.
ScoredDraft score_draft(Draft draft, const Problem& problem);

/// Returns the draft after local changes that make its step shorter, or its stages more even at an equal step.
///
/// Changes move operators and devices between stages, divide stages and merge them. With `allows_colocation` they also
/// make co-located stages of operators that wait for other stages, or that other stages wait for. The first improvement
/// in a fixed order is accepted. At most `trials` simulations run; their number is subtracted from `trials`.
ScoredDraft improve_draft(ScoredDraft start, const Problem& problem, std::int64_t& trials,
                          bool allows_colocation = true);

}  // namespace lanista::pipeline
