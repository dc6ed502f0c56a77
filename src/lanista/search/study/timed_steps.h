#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include <nlohmann/json.hpp>

#include "lanista/model/graph/op.h"
#include "lanista/plan/pipeline/timed_step.h"
#include "lanista/search/study/study_view.h"

// Steps of programs in stages (run.pipeline) that were timed pass by pass, one a program. They enter no result.
namespace lanista::study {

/// That a log keeps at most: what more would be the same for other models.
inline constexpr std::int64_t kMaxTimedSteps = 256;

/// The member "timed" of a record or a message; null: it has none. Throws fields::Malformed.
std::shared_ptr<const pipeline::TimedStep> read_timed(const nlohmann::json& in);

/// A step, and the trial in which it was timed.
struct TrialStep {
  TrialId trial;
  std::shared_ptr<const pipeline::TimedStep> step;
};
/// All, in the order of the log.
std::vector<TrialStep> timed_steps(const StudyView& view);
/// The last of the trial's own, or else the first of a trial with the same model: they share programs. Nothing: no such
/// step was timed, or the log is of a build that timed none.
std::optional<TrialStep> timed_step_of(const StudyView& view, const TrialView& trial, const graph::OpTable& ops);

}  // namespace lanista::study
