#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "lanista/search/sampler/strategy.h"
#include "lanista/search/study/epoch_selection.h"

namespace lanista::search {

/// Translates the events of a study to selected epochs: a measurement gets the metrics of the epoch that is selected by
/// then, and keeps its epoch number. So results of one epoch are results at equal fidelity. All other events pass
/// unchanged, and measurements too if the rule selects the last epoch.
class SelectedEpochEvents {
 public:
  /// A translator without trials.
  explicit SelectedEpochEvents(study::SelectionRule rule) : rule_(std::move(rule)) {}
  /// Returns a measurement with the metrics of the epoch that is selected by then, and any other event unchanged. The
  /// epoch number stays that of the measurement. The result is valid until the next call, and as long as `event`.
  /// Events must come in the order of the study.
  const study::Event& translate(const study::Event& event);

 private:
  struct Trial {
    study::EpochSelector epoch_selector;
    std::map<std::string, double> metrics;
  };
  study::SelectionRule rule_;
  std::map<TrialId, Trial> open_;
  study::Event changed_;
};

/// Returns a sampler that passes events to `inner`, after SelectedEpochEvents has replaced the metrics of each
/// measurement by those of the trial's best epoch so far. Returns `inner` itself if the rule selects the last epoch.
std::unique_ptr<Sampler> with_selected_epochs(std::unique_ptr<Sampler> inner, const study::SelectionRule& rule);
/// Returns a halving that passes events to `inner`, after SelectedEpochEvents has replaced the metrics of each
/// measurement by those of the trial's best epoch so far. Returns `inner` itself if the rule selects the last epoch.
std::unique_ptr<Halving> with_selected_epochs(std::unique_ptr<Halving> inner, const study::SelectionRule& rule);

}  // namespace lanista::search
