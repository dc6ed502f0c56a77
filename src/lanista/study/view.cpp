#include "lanista/study/view.h"

#include <algorithm>
#include <cmath>

#include "lanista/graph/editor.h"
#include "lanista/graph/text.h"
#include "lanista/study/pareto.h"

namespace lanista::study {

Result<graph::Graph> base_model(const StudyView& view, const TrialView& trial) {
  const auto base = static_cast<std::size_t>(trial.proposal.base);
  const bool there = trial.proposal.base >= 0 && view.models.is_array() && base < view.models.size();
  if (!there || !view.models[base].is_object() || !view.models[base].contains("graph")) {
    return Error{Code::kDataLoss, "the log holds no base model " + std::to_string(trial.proposal.base), ""};
  }
  const auto& text = view.models[base]["graph"];
  if (!text.is_string()) return Error{Code::kDataLoss, "a base model in the log is not text", ""};
  return graph::parse(text.get_ref<const std::string&>());
}

Result<graph::Graph> trial_model(const StudyView& view, const TrialView& trial, const graph::OpTable& ops) {
  LANISTA_ASSIGN(const graph::Graph base, base_model(view, trial));
  return graph::apply_edits(base, trial.proposal.edits, ops);
}

Standing standing(const std::vector<Goal>& goals, const TrialView& trial) {
  Standing out{{}, trial.parameters, trial.id};
  for (const double loss : losses(goals, trial.measurements.back())) {
    out.losses.emplace_back(std::isnan(loss), std::isnan(loss) ? 0 : loss);
  }
  return out;
}

bool ranks(const TrialView& trial, const Outcome& outcome) {
  const bool finished = outcome.kind == OutcomeKind::kSucceeded || outcome.kind == OutcomeKind::kStopped;
  return finished && !trial.measurements.empty();
}

std::vector<TrialId> ranking(const StudyView& view) {
  std::vector<Standing> all;
  for (const TrialView& trial : view.trials) {
    if (trial.outcome && ranks(trial, *trial.outcome)) all.push_back(standing(view.config.goals, trial));
  }
  std::sort(all.begin(), all.end());
  std::vector<TrialId> ids;
  for (const Standing& s : all) ids.push_back(s.trial);
  return ids;
}

}  // namespace lanista::study
