#include "lanista/search/sampler/duplicate_filter.h"

#include <utility>

namespace lanista::search {

std::optional<std::string> DuplicateFilter::rejection_reason(const study::Proposal& proposal) const {
  if (contains(study::run_key(proposal))) return "tried before";
  auto broken = filter_->violated_constraint(proposal);
  if (broken) return "breaks '" + *broken + "'";
  return std::nullopt;
}

ReplayableSampler::ReplayableSampler(Context context) : context_(std::move(context)), filter_(context_) {}

Result<Suggestion> ReplayableSampler::sample_proposals(std::int64_t count) const {
  std::vector<study::Proposal> group;
  DuplicateFilter duplicates(seen_, filter_, group);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint64_t index = proposed_ + static_cast<std::uint64_t>(i);
    auto proposal = next(index, context_.rng.split(index), duplicates);
    if (!proposal) {
      if (group.empty()) return std::move(proposal).error();
      break;  // The error is returned when this proposal is the first of a group.
    }
    if (!*proposal) break;
    duplicates.fresh_.insert(study::run_key(**proposal));
    group.push_back(**std::move(proposal));
  }
  if (group.empty()) return Suggestion::space_exhausted();
  Suggestion out;
  for (study::Proposal& proposal : group) out.group.members.emplace_back(NewTrial{std::move(proposal)});
  return out;
}

void ReplayableSampler::observe(const study::Event& event) {
  if (const auto* proposed = std::get_if<study::Proposed>(&event)) {
    seen_.insert(study::run_key(proposed->proposal));
    ++proposed_;
  }
  fold_event(event);
}

}  // namespace lanista::search
