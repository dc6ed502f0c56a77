#include "lanista/search/study/timed_steps.h"

#include "lanista/model/graph/text.h"
#include "lanista/search/study/record_fields.h"

namespace lanista::study {

std::shared_ptr<const pipeline::TimedStep> read_timed(const nlohmann::json& in) {
  return std::make_shared<const pipeline::TimedStep>(fields::good(pipeline::read_timed_step(in)));
}

std::vector<TrialStep> timed_steps(const StudyView& view) {
  std::vector<TrialStep> steps;
  for (const Span& span : view.spans) {
    if (span.timed != nullptr) steps.push_back({span.trial, span.timed});
  }
  return steps;
}

std::optional<TrialStep> timed_step_of(const StudyView& view, const TrialView& trial, const graph::OpTable& ops) {
  const std::vector<TrialStep> steps = timed_steps(view);
  for (auto it = steps.rbegin(); it != steps.rend(); ++it) {
    if (it->trial == trial.id) return *it;
  }
  if (steps.empty()) return std::nullopt;
  const auto text_of = [&](const TrialView& of) {
    const auto model = trial_model(view, of, ops);
    return model ? graph::to_text(*model) : std::string();
  };
  const std::string own = text_of(trial);
  for (const TrialStep& step : steps) {
    if (step.trial.value == 0 || step.trial.value > view.trials.size()) continue;
    if (!own.empty() && text_of(view.trials[step.trial.value - 1]) == own) return step;
  }
  return std::nullopt;
}

}  // namespace lanista::study
