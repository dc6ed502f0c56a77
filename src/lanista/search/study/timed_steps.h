#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include <nlohmann/json.hpp>

#include "lanista/model/graph/op.h"
#include "lanista/plan/pipeline/timed_step.h"
#include "lanista/search/study/study_view.h"

// Timed steps of programs in pipeline stages (run.pipeline), one for each program. No result depends on them.
namespace lanista::study {

/// Most timed steps that a log keeps; later ones are not recorded.
inline constexpr std::int64_t kMaxTimedSteps = 256;

/// Reads the member "timed" of a record or a message. Throws fields::Malformed (its form is invalid).
std::shared_ptr<const pipeline::TimedStep> read_timed(const nlohmann::json& in);

/// A timed step with the trial in which it was timed.
struct TrialStep {
  TrialId trial;                                    ///< Trial in which the step was timed.
  std::shared_ptr<const pipeline::TimedStep> step;  ///< Times of the step; not null.
};
/// Returns all timed steps of the spans of a study, in the order of the log.
std::vector<TrialStep> timed_steps(const StudyView& view);
/// Returns the latest timed step of the trial, or else the first one of a trial with an equal model. Recipes are not
/// compared. nullopt: no such step was timed.
std::optional<TrialStep> timed_step_of(const StudyView& view, const TrialView& trial, const graph::OpTable& ops);

}  // namespace lanista::study
