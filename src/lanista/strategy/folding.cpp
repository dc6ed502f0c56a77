#include "lanista/strategy/folding.h"

#include <utility>

namespace lanista::strategy {

std::optional<std::string> Taken::refuses(const study::Proposal& proposal) const {
  if (contains(study::duplicate_key(proposal))) return "tried before";
  auto broken = filter_->broken(proposal);
  if (broken) return "breaks '" + *broken + "'";
  return std::nullopt;
}

Folding::Folding(Context context, std::unique_ptr<StoppingRule> rule)
    : context_(std::move(context)), filter_(context_), rule_(std::move(rule)) {}

Result<TrialGroup> Folding::suggest(const Capacity& capacity) const {
  TrialGroup group;
  Taken taken(seen_, filter_, group.proposals);
  for (std::int64_t i = 0; i < capacity.free_slots; ++i) {
    const std::uint64_t index = proposed_ + static_cast<std::uint64_t>(i);
    auto proposal = next(index, context_.rng.split(index), taken);
    if (!proposal) {
      if (group.proposals.empty()) return std::move(proposal).error();
      break;  // the error comes back when only this one is asked for
    }
    if (!*proposal) break;
    taken.fresh_.insert(study::duplicate_key(**proposal));
    group.proposals.push_back(**std::move(proposal));
  }
  return group;
}

void Folding::observe(const study::Event& event) {
  if (const auto* proposed = std::get_if<study::Proposed>(&event)) {
    seen_.insert(study::duplicate_key(proposed->proposal));
    ++proposed_;
  }
  if (rule_) rule_->observe(event);
  fold(event);
}

study::Verdict Folding::verdict(TrialId trial) const {
  return rule_ ? rule_->verdict(trial) : study::Verdict::kContinue;
}

std::int64_t Folding::next_decision(TrialId trial, std::int64_t epoch, std::int64_t budget) const {
  return rule_ ? rule_->next_decision(trial, epoch, budget) : budget;
}

}  // namespace lanista::strategy
