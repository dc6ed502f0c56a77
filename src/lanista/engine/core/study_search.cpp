#include "lanista/engine/core/study_search.h"

#include <utility>
#include <variant>

namespace lanista::engine {

void DuplicateIndex::observe(const study::Event& event) {
  const auto* proposed = std::get_if<study::Proposed>(&event);
  if (proposed == nullptr) return;
  const TrialId first = first_by_key_.emplace(study::run_key(proposed->proposal), proposed->trial).first->second;
  first_trials_.push_back(first);
}

StudySearch::StudySearch(StudyContext& study, std::unique_ptr<search::Strategy> strategy,
                         const std::vector<study::Event>& past)
    : study_(study), strategy_(std::move(strategy)), rules_(study, *strategy_), last_rung_(study.state.view.config) {
  for (const study::Event& event : past) observe(event);
}

void StudySearch::observe(const study::Event& event) {
  strategy_->observe(event);
  run_ahead_limit_.observe(event, *strategy_);
  rules_.observe(event);
  duplicates_.observe(event);
  last_rung_.observe(event);
}

void StudySearch::announce(const study::Event& event) {
  const std::size_t contradicted = rules_.contradicted_rules().size();
  observe(event);
  if (const auto wrong = rules_.contradicted_rules(); wrong.size() > contradicted) {
    study_.event(Level::kWarning, "rule_contradicted", {{"rules", wrong}});
  }
  const Observer& observer = study_.services.observer;
  if (observer.on_event) observer.on_event(study_.state.view, event);
}

}  // namespace lanista::engine
