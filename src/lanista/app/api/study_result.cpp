#include "lanista/study_result.h"

#include <algorithm>

#include "lanista/app/api/guarded.h"
#include "lanista/app/cli/load.h"
#include "lanista/app/report/facts.h"
#include "lanista/base/enum_table.h"
#include "lanista/model/graph/text.h"

namespace lanista {
namespace {

using study::OutcomeKind;

constexpr EnumTable<OutcomeKind, TrialState, 6> kStates{{{OutcomeKind::kSucceeded, TrialState::kSucceeded},
                                                         {OutcomeKind::kStopped, TrialState::kStopped},
                                                         {OutcomeKind::kFailed, TrialState::kFailed},
                                                         {OutcomeKind::kCancelled, TrialState::kCancelled},
                                                         {OutcomeKind::kDuplicate, TrialState::kDuplicate},
                                                         {OutcomeKind::kPrunedByRule, TrialState::kPrunedByRule}}};

TrialState state_of(const study::TrialView& trial) {
  if (!trial.outcome) return trial.paused ? TrialState::kPaused : TrialState::kRunning;
  return entry_of(kStates, trial.outcome->kind);
}

Measurement measurement_of(const study::Measurement& measurement) {
  return {measurement.epoch, measurement.step, measurement.metrics};
}

std::optional<std::int64_t> number_of(const std::optional<TrialId>& id) {
  if (!id) return std::nullopt;
  return id->value;
}

Trial trial_of(const study::StudyView& view, const study::TrialView& trial) {
  Trial out;
  out.number = trial.id.value;
  out.state = state_of(trial);
  out.base_model = report::base_name(view, trial.proposal);
  out.parent = number_of(trial.proposal.parent);
  out.num_parameters = trial.parameters;
  if (trial.outcome) {
    out.reason = trial.outcome->reason;
    out.same_as = number_of(trial.outcome->same_as);
  }
  for (const auto& [name, value] : trial.proposal.sample) out.hyper_parameters[name] = space::value_text(value);
  for (const study::Measurement& each : trial.measurements) out.measurements.push_back(measurement_of(each));
  const study::TrialView& measured = report::measured_trial(view, trial);
  if (!measured.measurements.empty()) out.result = measurement_of(study::result_of(view.config, measured));
  return out;
}

StudyResult result_of_view(const study::StudyView& view) {
  StudyResult out;
  out.name = view.config.name;
  out.resolved_text = view.config_text;
  for (const study::Goal& goal : view.config.goals) out.goals.push_back({goal.metric, goal.maximize});
  for (const study::TrialView& trial : view.trials) out.trials.push_back(trial_of(view, trial));
  for (const TrialId id : study::ranking(view)) out.ranking.push_back(id.value);
  for (const TrialId id : study::pareto_front(study::ranking_keys(view))) out.pareto_front.push_back(id.value);
  out.winner = number_of(view.winner);
  out.test = view.test;
  out.end_reason = view.end_reason;
  out.steps = view.steps;
  out.seconds = view.seconds;
  return out;
}

}  // namespace

std::string_view state_name(TrialState state) {
  const auto ended = std::ranges::find(kStates, state, &std::pair<study::OutcomeKind, TrialState>::second);
  if (ended != kStates.end()) return study::outcome_name(ended->first);
  return state == TrialState::kRunning ? "running" : "paused";
}

Result<StudyResult> read_study(const std::string& folder) {
  return api::guarded([&]() -> Result<StudyResult> {
    LANISTA_ASSIGN(const study::StudyView view, cli::load_study(folder));
    return result_of_view(view);
  });
}

Result<std::string> read_trial_model(const std::string& folder, std::int64_t trial) {
  return api::guarded([&]() -> Result<std::string> {
    LANISTA_ASSIGN(const study::StudyView view, cli::load_study(folder));
    const auto count = static_cast<std::int64_t>(view.trials.size());
    if (trial < 1 || trial > count) {
      return Error{Code::kNotFound,
                   "there is no trial " + std::to_string(trial) + "; the study has " +
                       (count == 0 ? "none" : "trials 1 to " + std::to_string(count)),
                   folder};
    }
    LANISTA_ASSIGN(const graph::Graph model,
                   study::trial_model(view, view.trials[static_cast<std::size_t>(trial - 1)], graph::builtin_ops()));
    return graph::to_text(model);
  });
}

}  // namespace lanista
