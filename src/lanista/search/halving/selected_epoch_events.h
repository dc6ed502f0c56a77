#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "lanista/search/sampler/strategy.h"
#include "lanista/search/study/epoch_selection.h"

namespace lanista::strategy {

/// Makes of a study's events those of what its trials stand for: the metrics that a trial measured at an epoch are
/// those of the epoch that it would stand for, had it ended there. So results of one epoch are results at equal
/// fidelity. A fold over the events; the same events where the last epoch counts.
class SelectedEpochEvents {
 public:
  explicit SelectedEpochEvents(study::SelectionRule rule) : rule_(std::move(rule)) {}
  /// `event`, or what it becomes, until the next call.
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

/// The same sampler, halving, told what trials stand for in place of what they measured.
std::unique_ptr<Sampler> with_selected_epochs(std::unique_ptr<Sampler> inner, const study::SelectionRule& rule);
std::unique_ptr<Halving> with_selected_epochs(std::unique_ptr<Halving> inner, const study::SelectionRule& rule);

}  // namespace lanista::strategy
