#include "lanista/strategy/history.h"

#include <utility>

namespace lanista::strategy {

std::optional<Observation> History::observe(const study::Event& event) {
  if (const auto* proposed = std::get_if<study::Proposed>(&event)) {
    running_[proposed->trial] = {proposed->trial, proposed->proposal, {}, 0, {}, 0};
  } else if (const auto* measured = std::get_if<study::Measured>(&event)) {
    const auto it = running_.find(measured->measurement.trial);
    if (it == running_.end()) return std::nullopt;
    it->second.losses = study::losses(goals_, measured->measurement);
    it->second.violation = study::violation(constraints_, measured->measurement, it->second.proposal.sample);
    it->second.epoch = measured->measurement.epoch;
  } else if (const auto* ended = std::get_if<study::Ended>(&event)) {
    const auto it = running_.find(ended->trial);
    if (it == running_.end()) return std::nullopt;
    Observation seen = std::move(it->second);
    running_.erase(it);
    using study::OutcomeKind;
    const OutcomeKind kind = seen.outcome = ended->outcome.kind;
    if (kind == OutcomeKind::kDuplicate) return std::nullopt;
    if (kind == OutcomeKind::kFailed || kind == OutcomeKind::kCancelled) seen.losses.clear();
    return seen;
  }
  return std::nullopt;
}

}  // namespace lanista::strategy
